package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VirtualMachine is a machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=vm,categories=virtrigaud
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=".spec.classRef.name"
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=".spec.imageRef.name"
// +kubebuilder:printcolumn:name="Power",type=string,JSONPath=".spec.powerState"
type VirtualMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VirtualMachineSpec `json:"spec"`
}

// VirtualMachineSpec is what is wanted of a machine.
type VirtualMachineSpec struct {
	// ProviderRef names the Provider. It can be left out when there is only one.
	// +optional
	ProviderRef *Ref `json:"providerRef,omitempty"`

	// ClassRef names the VMClass.
	ClassRef Ref `json:"classRef"`

	// ImageRef names the VMImage that the machine is made from. Without it the
	// machine begins with empty disks.
	// +optional
	ImageRef *Ref `json:"imageRef,omitempty"`

	// LinkedClone shares the disks of the image and keeps the differences only,
	// where the image is a template and the disks stay on its storage. False
	// makes a full copy. Default: true.
	// +optional
	// +kubebuilder:default=true
	LinkedClone *bool `json:"linkedClone,omitempty"`

	MachineSpec `json:",inline"`
}

// PowerState is the power state that is wanted.
// +kubebuilder:validation:Enum=On;Off;OffGraceful
type PowerState string

// Power states. Off pulls the plug, OffGraceful asks the guest to shut down.
const (
	PowerOn          PowerState = "On"
	PowerOff         PowerState = "Off"
	PowerOffGraceful PowerState = "OffGraceful"
)

// Permission says whether something may be done without asking.
// +kubebuilder:validation:Enum=Never;Allow
type Permission string

// Permissions.
const (
	Never Permission = "Never"
	Allow Permission = "Allow"
)

// DeletionPolicy says what becomes of a machine when its object is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// Deletion policies.
const (
	Delete DeletionPolicy = "Delete" // the machine goes with its disks
	Retain DeletionPolicy = "Retain" // the machine stays in Proxmox and is let go
)
