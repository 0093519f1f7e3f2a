// Package v1beta1 is what people write of the group infra.virtrigaud.io: a
// Provider, which is a Proxmox cluster, and the machines on it.
//
// The comments here are the reference of the fields. Optional fields that are left out have
// the value of the image or of Proxmox, unless the comment says otherwise.
//
// +kubebuilder:object:generate=true
// +groupName=infra.virtrigaud.io
package v1beta1

import "slices"

// Group and Version name the API that these types belong to.
const (
	Group   = "infra.virtrigaud.io"
	Version = "v1beta1"

	// APIVersion is the apiVersion of objects.
	APIVersion = Group + "/" + Version
)

// Identity is the annotation that identifies an object in Proxmox: the UID that it had when
// it was created. An object that is restored from a backup has another UID, but the same
// annotation.
const Identity = Group + "/identity"

// ClusterName is the annotation with the name of the Kubernetes when the operator first saw
// the object. It is part of the owner of the object's machines in Proxmox. The operator
// never changes it.
const ClusterName = Group + "/cluster-name"

// TakenOverBy is the annotation with the name of the Kubernetes that manages an object
// whose [ClusterName] is another one. Without it the object is left alone, since the other
// Kubernetes may still exist.
const TakenOverBy = Group + "/taken-over-by"

// Members is the annotation with the largest count that an object has ever had. It is
// written before the machines are created. An object that is restored from a backup has no
// status that names its machines: machines beyond its count are found by this annotation.
const Members = Group + "/members"

// Proxmox is the annotation of a Provider with the fingerprint of the root certificate of
// the Proxmox cluster that it is to be used with. Without it, it is used with the cluster
// that its machines were made on, see [ProviderStatus].
const Proxmox = Group + "/proxmox"

// Paused is the annotation that, with the value "true", keeps the operator from changing
// anything in Proxmox for an object, or for all objects of a Provider. The status says what
// would be done.
const Paused = Group + "/paused"

// ManagementPolicy is the annotation that, with the value [Observe], has the operator only
// observe an object, or all objects of a Provider, and report their state.
const ManagementPolicy = Group + "/management-policy"

// Observe is a management policy.
const Observe = "Observe"

// ForceDelete is the annotation that, with the value "true", releases an object that is
// being deleted: the object is removed, and nothing is changed in Proxmox.
const ForceDelete = "virtrigaud.io/force-delete"

// Ref names another object of the same namespace.
type Ref struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// SharedRef names an object of the same namespace, or one of another namespace that is
// shared with this one: see spec.sharedWith of VMClass, VMImage and VMPlacementPolicy.
type SharedRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Namespace of the object. Default: the same namespace. The object has to be shared
	// with this one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// Namespaces that an object is shared with; "*" stands for all.
//
// +listType=set
// +kubebuilder:validation:MaxItems=256
// +kubebuilder:validation:items:MaxLength=63
// +kubebuilder:validation:items:MinLength=1
type Namespaces []string

// Include reports whether the namespace is one of them.
func (n Namespaces) Include(namespace string) bool {
	return slices.Contains(n, "*") || slices.Contains(n, namespace)
}

// SecretKeyRef names one entry of a Secret of the same namespace.
type SecretKeyRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Key of the entry. It can be left out when the Secret has one entry only,
	// or one that is called "userData" or "user-data".
	// +optional
	Key string `json:"key,omitempty"`
}

// ConfigMapKeyRef names one entry of a ConfigMap of the same namespace.
type ConfigMapKeyRef struct {
	// Name of the ConfigMap.
	Name string `json:"name"`

	// Key of the entry. It can be left out when the ConfigMap has one entry only,
	// or one that is called "userData" or "user-data".
	// +optional
	Key string `json:"key,omitempty"`
}

// Text is given inline or by a reference: one of inline, secretRef and configMapRef.
type Text struct {
	// Inline is the text itself.
	// +optional
	Inline string `json:"inline,omitempty"`

	// SecretRef names the Secret that has the text.
	// +optional
	SecretRef *SecretKeyRef `json:"secretRef,omitempty"`

	// ConfigMapRef names the ConfigMap that has the text.
	// +optional
	ConfigMapRef *ConfigMapKeyRef `json:"configMapRef,omitempty"`
}
