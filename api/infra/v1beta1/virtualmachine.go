package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachine is a machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.count,statuspath=.status.count,selectorpath=.status.selector
// +kubebuilder:resource:shortName=vm;pxvm,categories=virtrigaud
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="NODE",type=string,JSONPath=".status.node"
// +kubebuilder:printcolumn:name="VMID",type=integer,JSONPath=".status.vmid"
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=".status.addresses[0]"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="CLASS",type=string,priority=1,JSONPath=".spec.classRef.name"
// +kubebuilder:printcolumn:name="IMAGE",type=string,priority=1,JSONPath=".spec.imageRef.name"
// +kubebuilder:printcolumn:name="WAITING",type=string,priority=1,JSONPath=".status.waiting"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 || has(self.spec.name)",message="metadata.name has more than 63 characters, which is too long for a host name: shorten it, or give a shorter one in spec.name"
type VirtualMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VirtualMachineSpec `json:"spec"`

	// Status of the object in Kubernetes.
	// +optional
	Status MachineStatus `json:"status,omitempty,omitzero"`
}

// VirtualMachineList is a list of VirtualMachines.
//
// +kubebuilder:object:root=true
type VirtualMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []VirtualMachine `json:"items"`
}

// VirtualMachineSpec is the wanted state of a machine.
// +kubebuilder:validation:XValidation:rule="has(self.count) == has(oldSelf.count)",message="count can't be added or taken away later, since its machines have other names: make another VirtualMachine"
type VirtualMachineSpec struct {
	// ProviderRef names the Provider. It can be left out when there is only one.
	// +optional
	ProviderRef *Ref `json:"providerRef,omitempty"`

	// ClassRef names the VMClass.
	ClassRef SharedRef `json:"classRef"`

	// ImageRef names the VMImage that the machine is made from. Without it the
	// machine begins with empty disks.
	// +optional
	ImageRef *SharedRef `json:"imageRef,omitempty"`

	// LinkedClone shares the disks of the image and stores only differences, if the image is a
	// template and the disks stay on its storage. False makes a full copy. Default: true.
	// +optional
	// +kubebuilder:default=true
	LinkedClone *bool `json:"linkedClone,omitempty"`

	// Count makes several machines of this object, named after it with a number: web-1, web-2
	// and so on. VMID and static addresses are those of the first; the others have the numbers
	// that follow. ${vm_index}, from 0 on, and ${vm_count} are replaced in UserData. A smaller
	// count destroys the last machines, which updatePolicy.scaleDown has to allow.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Count *int `json:"count,omitempty"`

	// MemberVariables are variables of single machines of a count, added to Variables: the
	// first entry is for the first machine. Machines without an entry have only Variables.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	MemberVariables []map[string]string `json:"memberVariables,omitempty"`

	MachineSpec `json:",inline"`
}

// Permission says whether a step may be taken without asking.
// +kubebuilder:validation:Enum=Never;Allow
type Permission string

// Permissions.
const (
	Never Permission = "Never"
	Allow Permission = "Allow"
)

// DeletionPolicy says whether a machine is destroyed or kept when its object is
// deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// Deletion policies.
const (
	Delete DeletionPolicy = "Delete" // the machine is destroyed with its disks
	Retain DeletionPolicy = "Retain" // the machine stays in Proxmox and is released
)
