package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMSnapshot is a snapshot of a machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=vmsnap,categories=virtrigaud
// +kubebuilder:printcolumn:name="VM",type=string,JSONPath=".spec.vmRef.name"
// +kubebuilder:printcolumn:name="VMID",type=integer,JSONPath=".status.vmid"
// +kubebuilder:printcolumn:name="MEMORY",type=boolean,JSONPath=".spec.includeMemory"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="WAITING",type=string,priority=1,JSONPath=".status.waiting"
type VMSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMSnapshotSpec `json:"spec"`

	// Status of the object in Kubernetes.
	// +optional
	Status SnapshotStatus `json:"status,omitempty,omitzero"`
}

// VMSnapshotList is a list of VMSnapshots.
//
// +kubebuilder:object:root=true
type VMSnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []VMSnapshot `json:"items"`
}

// VMSnapshotSpec says what the snapshot contains.
//
// +kubebuilder:validation:XValidation:rule="(has(self.includeMemory) && self.includeMemory) == (has(oldSelf.includeMemory) && oldSelf.includeMemory)",message="includeMemory is decided when the snapshot is taken: make a new VMSnapshot"
// +kubebuilder:validation:XValidation:rule="(has(self.description) ? self.description : \"\") == (has(oldSelf.description) ? oldSelf.description : \"\")",message="the description is written when the snapshot is taken: make a new VMSnapshot"
type VMSnapshotSpec struct {
	// VMRef names the VirtualMachine or VMClone.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a snapshot stays that of its machine: make a new VMSnapshot for another one"
	VMRef Ref `json:"vmRef"`

	// Description that is shown in Proxmox. In Kubernetes it can't be changed later.
	// +optional
	// +kubebuilder:validation:MaxLength=6144
	Description string `json:"description,omitempty"`

	// IncludeMemory includes the memory of a running machine, so that a rollback resumes it.
	// Without it the disks are as after a power failure. It is used when the snapshot is
	// taken: in Kubernetes it can't be changed later.
	// +optional
	IncludeMemory bool `json:"includeMemory,omitempty"`

	// Revert rolls the machine back to the snapshot, once for each new value: any text, such
	// as a date. Later changes of the disks are lost, so updatePolicy.removeDisks has to allow
	// it.
	// +optional
	Revert string `json:"revert,omitempty"`

	// Keep is how many of proxplane's snapshots of this machine are kept: when this one is
	// taken, older ones that no VMSnapshot names any more are deleted.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Keep int `json:"keep,omitempty"`
}
