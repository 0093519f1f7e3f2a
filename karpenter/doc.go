// Package karpenter is the door for Karpenter: nodes of a Kubernetes that come and go with the load,
// as machines on Proxmox. People write Karpenter's NodePools, and ProxmoxNodeClass, ProxmoxTemplate
// and ProxmoxUnmanagedTemplate, see package api/karpenter/v1alpha1.
//
// Karpenter's own controllers run in this process ([Run]) and call [CloudProvider]. A region is a
// Proxmox cluster, a zone one of its nodes. What Karpenter asks for is translated by package spec and put
// on the region's site, which other doors share; whose a machine is, its own notes in Proxmox say.
//
// There is no state but that of Kubernetes and Proxmox: a process that is killed finds its machines by
// their owner, which is the NodeClaim with its UID.
package karpenter
