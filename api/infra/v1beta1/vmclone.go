package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMClone is a machine that is a copy of another one. Once it is made it is independent:
// later changes of its source, or of what the source was made from, don't affect the copy.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pxclone,categories=virtrigaud
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="NODE",type=string,JSONPath=".status.node"
// +kubebuilder:printcolumn:name="VMID",type=integer,JSONPath=".status.vmid"
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=".status.addresses[0]"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="SOURCE",type=string,priority=1,JSONPath=".spec.sourceVMRef.name"
// +kubebuilder:printcolumn:name="CLASS",type=string,priority=1,JSONPath=".spec.classRef.name"
// +kubebuilder:printcolumn:name="WAITING",type=string,priority=1,JSONPath=".status.waiting"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 || has(self.spec.name)",message="metadata.name has more than 63 characters, which is too long for a host name: shorten it, or give a shorter one in spec.name"
type VMClone struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMCloneSpec `json:"spec"`

	// Status of the object in Kubernetes.
	// +optional
	Status MachineStatus `json:"status,omitempty,omitzero"`
}

// VMCloneList is a list of VMClones.
//
// +kubebuilder:object:root=true
type VMCloneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []VMClone `json:"items"`
}

// VMCloneSpec says what is copied, and the settings of the copy. Settings that are left out
// are those of the source.
type VMCloneSpec struct {
	// SourceVMRef names the VirtualMachine or VMClone to copy. If there is none of
	// that name, it is a VMImage, else a template or VMID of Proxmox.
	SourceVMRef Ref `json:"sourceVMRef"`

	// Snapshot to copy instead of the present state, by its name in Proxmox.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`

	// LinkedClone shares the disks of the source and stores only differences. Proxmox can do
	// that with templates; it makes full copies of other machines. Default: true.
	// +optional
	// +kubebuilder:default=true
	LinkedClone *bool `json:"linkedClone,omitempty"`

	// ProviderRef names the Provider. It can be left out: it is then that of the source.
	// +optional
	ProviderRef *Ref `json:"providerRef,omitempty"`

	// ClassRef names the VMClass of the copy.
	// +optional
	ClassRef *SharedRef `json:"classRef,omitempty"`

	MachineSpec `json:",inline"`
}
