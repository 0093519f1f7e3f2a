package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is the part of the status that all objects have. The operator writes it; the
// command line ignores it.
type Status struct {
	// ObservedGeneration is the generation of the object that the status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready (it is up to date), Progressing (it continues by itself) and
	// Degraded (somebody has to act); machines have further ones.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Waiting is what the object waits for, or what went wrong, in one sentence.
	// +optional
	Waiting string `json:"waiting,omitempty"`

	// WaitingSince is the time since when the object waits.
	// +optional
	WaitingSince *metav1.Time `json:"waitingSince,omitempty"`
}

// MachineStatus is the status of a VirtualMachine or VMClone.
type MachineStatus struct {
	Status `json:",inline"`

	// State is running, stopped, paused, unknown or absent. For several machines it says how
	// many run: "3/3 running".
	// +optional
	State string `json:"state,omitempty"`

	// Node that the machine is on.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the machine. It is chosen and noted here before the machine is made.
	// +optional
	VMID int `json:"vmid,omitempty"`

	// Addresses that the guest agent has reported; those that others can reach come first.
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// LeasedAddresses are the machine's addresses from pools (staticIP.fromPool). A machine
	// that is recreated gets them again.
	// +optional
	LeasedAddresses []string `json:"leasedAddresses,omitempty"`

	// VerifiedAt is when the whole configuration of the machine was last compared with the
	// spec: within an hour, as long as Proxmox can be reached. It is written every ten minutes
	// at most. For several machines it is the earliest time.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`

	// Provider that has the machine. It doesn't change while the machine exists.
	// +optional
	Provider string `json:"provider,omitempty"`

	// Task is the UPID of the task that Proxmox is working on.
	// +optional
	Task string `json:"task,omitempty"`

	// Count is the number of machines, if the object stands for several.
	// +optional
	Count int `json:"count,omitempty"`

	// Selector is the label selector of these machines, which a HorizontalPodAutoscaler needs.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Members are these machines, in their order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Members []Member `json:"members,omitempty"`
}

// Member is one of the machines that an object stands for.
type Member struct {
	// Name of the machine: that of the object with a number.
	Name string `json:"name"`

	// State is running, stopped, paused, unknown or absent.
	// +optional
	State string `json:"state,omitempty"`

	// Node that the machine is on.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the machine. It is chosen and noted here before the machine is made.
	// +optional
	VMID int `json:"vmid,omitempty"`

	// Addresses that the guest agent has reported.
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// LeasedAddresses are those that the machine has from pools.
	// +optional
	LeasedAddresses []string `json:"leasedAddresses,omitempty"`

	// Ready reports whether the machine is up to date.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// Waiting is what the machine waits for, or what went wrong.
	// +optional
	Waiting string `json:"waiting,omitempty"`
}

// ProviderStatus is the status of a Provider.
type ProviderStatus struct {
	Status `json:",inline"`

	// ClusterName is the name of this Kubernetes when the Provider was first connected. It is
	// part of the owner of each machine in Proxmox, and doesn't change.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`

	// Proxmox is the fingerprint of the root certificate of the Proxmox cluster that the
	// machines are on. Nothing is done while the endpoint leads to another cluster.
	// +optional
	Proxmox string `json:"proxmox,omitempty"`

	// Version of Proxmox VE.
	// +optional
	Version string `json:"version,omitempty"`

	// Nodes of the cluster, and how many of them are online: "3/3".
	// +optional
	Nodes string `json:"nodes,omitempty"`

	// Machines is the number of its VirtualMachines and VMClones.
	// +optional
	Machines int `json:"machines,omitempty"`
}

// ImageTemplate is a template that an image stands for.
type ImageTemplate struct {
	// Provider that has the template.
	Provider string `json:"provider"`

	// VMID of the template.
	VMID int `json:"vmid"`

	// Name of the template.
	// +optional
	Name string `json:"name,omitempty"`

	// Node that has this template.
	// +optional
	Node string `json:"node,omitempty"`
}

// ImageStatus is the status of a VMImage.
type ImageStatus struct {
	Status `json:",inline"`

	// Node that has the template.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the template.
	// +optional
	VMID int `json:"vmid,omitempty"`

	// Templates of the image in Proxmox: for a source the templates of that name, one per
	// node; for a url those that were made of it. A change is reported by an event.
	// +optional
	// +listType=map
	// +listMapKey=provider
	// +listMapKey=vmid
	Templates []ImageTemplate `json:"templates,omitempty"`

	// Providers that the image was fetched for.
	// +optional
	// +listType=set
	Providers []string `json:"providers,omitempty"`

	// Machines is the number of VirtualMachines and VMClones that are made from it.
	// +optional
	Machines int `json:"machines,omitempty"`
}

// SnapshotStatus is the status of a VMSnapshot.
type SnapshotStatus struct {
	Status `json:",inline"`

	// Node that the machine is on.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the machine.
	// +optional
	VMID int `json:"vmid,omitempty"`

	// Snapshot is its name in Proxmox.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`
}

// UseStatus is the status of a VMClass or VMPlacementPolicy.
type UseStatus struct {
	Status `json:",inline"`

	// Machines is the number of VirtualMachines and VMClones that use it.
	// +optional
	Machines int `json:"machines,omitempty"`
}

// Common returns the part of the status that all objects have.
func (o *Provider) Common() *Status          { return &o.Status.Status }
func (o *VirtualMachine) Common() *Status    { return &o.Status.Status }
func (o *VMClass) Common() *Status           { return &o.Status.Status }
func (o *VMClone) Common() *Status           { return &o.Status.Status }
func (o *VMImage) Common() *Status           { return &o.Status.Status }
func (o *VMPlacementPolicy) Common() *Status { return &o.Status.Status }
func (o *VMSnapshot) Common() *Status        { return &o.Status.Status }
