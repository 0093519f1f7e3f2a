package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMSnapshot is a snapshot of a machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=virtrigaud
// +kubebuilder:printcolumn:name="VM",type=string,JSONPath=".spec.vmRef.name"
type VMSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMSnapshotSpec `json:"spec"`
}

// VMSnapshotSpec says what is kept.
type VMSnapshotSpec struct {
	// VMRef names the VirtualMachine or VMClone.
	VMRef Ref `json:"vmRef"`

	// Description that is shown in Proxmox.
	// +optional
	Description string `json:"description,omitempty"`

	// IncludeMemory keeps the memory of a running machine too, so that it goes on
	// from there. Without it the disks are as after a power cut.
	// +optional
	IncludeMemory bool `json:"includeMemory,omitempty"`

	// Revert goes back to the snapshot, once for each new value: any text, such
	// as a date. What came after is lost, so that has to be allowed.
	// +optional
	Revert string `json:"revert,omitempty"`

	// Keep only that many of our snapshots of this machine: when this one is
	// taken, older ones that no VMSnapshot names any more are deleted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Keep int `json:"keep,omitempty"`
}
