package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is what is told of every object, by those who make it so in Kubernetes.
// On the command line nobody reads it.
type Status struct {
	// ObservedGeneration is the generation of the object that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready (it is up to date), Progressing (it goes on by itself)
	// and Degraded (somebody has to do something); machines have further ones.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Waiting is what the object waits for, or what went wrong, in one sentence.
	// +optional
	Waiting string `json:"waiting,omitempty"`

	// WaitingSince is since when.
	// +optional
	WaitingSince *metav1.Time `json:"waitingSince,omitempty"`
}

// MachineStatus is what is told of a VirtualMachine or VMClone.
type MachineStatus struct {
	Status `json:",inline"`

	// State is running, stopped, paused, unknown or absent. Of several machines it
	// says how many run: "3/3 running".
	// +optional
	State string `json:"state,omitempty"`

	// Node that the machine is on.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the machine. It is chosen and noted here before the machine is made.
	// +optional
	VMID int `json:"vmid,omitempty"`

	// Addresses that the guest agent has reported, those that others can reach first.
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// LeasedAddresses are those that the machine has from pools (staticIP.fromPool), or is to
	// get. A machine that is made anew gets them again.
	// +optional
	LeasedAddresses []string `json:"leasedAddresses,omitempty"`

	// VerifiedAt is when the whole configuration of the machine was last compared with what
	// is wanted: within an hour, as long as Proxmox can be reached. It is written every ten
	// minutes at most. Of several machines it is the earliest time.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`

	// Provider that has the machine. While the machine is there, it stays with this
	// one.
	// +optional
	Provider string `json:"provider,omitempty"`

	// Task is the UPID of the task that Proxmox is working on.
	// +optional
	Task string `json:"task,omitempty"`

	// Count is how many machines there are, where the object stands for several.
	// +optional
	Count int `json:"count,omitempty"`

	// Selector is the label selector of these machines, for those who scale them: it is
	// what a HorizontalPodAutoscaler asks for.
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
	// Name of the machine: that of the object, and a number.
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

// ProviderStatus is what is told of a Provider.
type ProviderStatus struct {
	Status `json:",inline"`

	// ClusterName is what this Kubernetes was known by in Proxmox when the Provider was
	// first connected: part of whose each machine is. It stays.
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

	// Machines is how many VirtualMachines and VMClones there are on it.
	// +optional
	Machines int `json:"machines,omitempty"`
}

// ImageTemplate is a template that an image stands for.
type ImageTemplate struct {
	// Provider that has it.
	Provider string `json:"provider"`

	// VMID of the template.
	VMID int `json:"vmid"`

	// Name of the template.
	// +optional
	Name string `json:"name,omitempty"`

	// Node that has it.
	// +optional
	Node string `json:"node,omitempty"`
}

// ImageStatus is what is told of a VMImage.
type ImageStatus struct {
	Status `json:",inline"`

	// Node that has the template.
	// +optional
	Node string `json:"node,omitempty"`

	// VMID of the template.
	// +optional
	VMID int `json:"vmid,omitempty"`

	// Templates are what the image stands for in Proxmox: of a source the templates of that
	// name, one a node, of a url the one that was made of it. An event tells when they are
	// others than before.
	// +optional
	// +listType=map
	// +listMapKey=provider
	// +listMapKey=vmid
	Templates []ImageTemplate `json:"templates,omitempty"`

	// Providers that it was fetched for.
	// +optional
	// +listType=set
	Providers []string `json:"providers,omitempty"`

	// Machines is how many VirtualMachines and VMClones are made from it.
	// +optional
	Machines int `json:"machines,omitempty"`
}

// SnapshotStatus is what is told of a VMSnapshot.
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

// UseStatus is what is told of a VMClass or VMPlacementPolicy.
type UseStatus struct {
	Status `json:",inline"`

	// Machines is how many VirtualMachines and VMClones use it.
	// +optional
	Machines int `json:"machines,omitempty"`
}

// Common is the part of the status that all objects have.
func (o *Provider) Common() *Status          { return &o.Status.Status }
func (o *VirtualMachine) Common() *Status    { return &o.Status.Status }
func (o *VMClass) Common() *Status           { return &o.Status.Status }
func (o *VMClone) Common() *Status           { return &o.Status.Status }
func (o *VMImage) Common() *Status           { return &o.Status.Status }
func (o *VMPlacementPolicy) Common() *Status { return &o.Status.Status }
func (o *VMSnapshot) Common() *Status        { return &o.Status.Status }
