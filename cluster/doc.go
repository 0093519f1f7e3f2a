// Package cluster makes and keeps Kubernetes clusters (RKE2 or k3s) from one file: the machines
// with what they install at their first boot, the order in which they join, checks of the cluster
// that they form, and its day 2: scale, replace, upgrade, back up, restore, destroy.
//
// Nothing is stored outside of Proxmox. A cluster's record is in the notes of its machines, its
// secrets are inside of its control planes, and both are read when they are needed: the name of the
// cluster and a login to Proxmox are enough.
package cluster
