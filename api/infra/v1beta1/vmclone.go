package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMClone is a machine that is a copy of another one.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=virtrigaud
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=".spec.sourceVMRef.name"
type VMClone struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMCloneSpec `json:"spec"`
}

// VMCloneSpec says what is copied, and what the copy has that is different.
// What isn't said is as the source had it.
type VMCloneSpec struct {
	// SourceVMRef names the VirtualMachine or VMClone to copy. If there is none of
	// that name, it is a VMImage, else a template or VMID of Proxmox.
	SourceVMRef Ref `json:"sourceVMRef"`

	// Snapshot to copy instead of the present state, by its name in Proxmox.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`

	// LinkedClone shares the disks of the source and keeps the differences only.
	// Proxmox can do that with templates; of other machines it makes full copies.
	// Default: true.
	// +optional
	// +kubebuilder:default=true
	LinkedClone *bool `json:"linkedClone,omitempty"`

	// ProviderRef names the Provider. It can be left out when the source tells.
	// +optional
	ProviderRef *Ref `json:"providerRef,omitempty"`

	// ClassRef names the VMClass of the copy.
	// +optional
	ClassRef *Ref `json:"classRef,omitempty"`

	MachineSpec `json:",inline"`
}
