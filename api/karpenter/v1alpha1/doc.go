// Package v1alpha1 is what people write of the group karpenter.proxmox.sinextra.dev: what
// Karpenter's nodes are made from (ProxmoxTemplate, ProxmoxUnmanagedTemplate), and how
// (ProxmoxNodeClass).
//
// The comments here are the reference of the fields.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.proxmox.sinextra.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version name the API that these types belong to.
const (
	Group   = "karpenter.proxmox.sinextra.dev"
	Version = "v1alpha1"

	// APIVersion is the apiVersion of objects.
	APIVersion = Group + "/" + Version
)

// Labels of NodeClaims and Nodes, which NodePools may select by.
const (
	// LabelInstanceFamily is the family of an instance type, such as c1.
	LabelInstanceFamily = Group + "/instance-family"
	// LabelInstanceCPU is how many CPUs an instance type has.
	LabelInstanceCPU = Group + "/instance-cpu"
	// LabelInstanceMemory is how much memory an instance type has, in MiB.
	LabelInstanceMemory = Group + "/instance-memory"
	// LabelInstanceCPUType is the type of CPU of the template, such as host.
	LabelInstanceCPUType = Group + "/instance-cpu-type"
	// LabelInstanceImage is the image that a node was made from, see status.imageID of
	// templates.
	LabelInstanceImage = Group + "/instance-image-id"
)

// Annotations of NodeClaims.
const (
	// AnnotationNodeClassHash is the hash of the ProxmoxNodeClass that a node was made with.
	AnnotationNodeClassHash = Group + "/proxmoxnodeclass-hash"
	// AnnotationNodeClassHashVersion is the version of the algorithm of the hash.
	AnnotationNodeClassHashVersion = Group + "/proxmoxnodeclass-hash-version"
	// AnnotationMachine is what the machine of a NodeClaim was made from, in JSON. The machine keeps
	// these settings when its ProxmoxNodeClass changes.
	AnnotationMachine = Group + "/machine"
)

// LabelRegion is the label of a Provider with the name of its region. Without it, the
// region has the name of the Provider.
const LabelRegion = Group + "/region"

// TerminationFinalizer keeps a ProxmoxNodeClass while NodeClaims use it, and a template while
// machines are made from it.
const TerminationFinalizer = Group + "/termination"

// GroupVersion is group and version for Kubernetes' libraries.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers the types with Kubernetes' libraries.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ProxmoxNodeClass{}, &ProxmoxNodeClassList{},
		&ProxmoxTemplate{}, &ProxmoxTemplateList{},
		&ProxmoxUnmanagedTemplate{}, &ProxmoxUnmanagedTemplateList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
