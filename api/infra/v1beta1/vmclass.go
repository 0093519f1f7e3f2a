package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMClass is a size of machine, with settings of its virtual hardware.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pxclass,categories=virtrigaud,path=vmclasses
// +kubebuilder:printcolumn:name="CPUS",type=integer,JSONPath=".spec.cpus"
// +kubebuilder:printcolumn:name="MEMORY",type=string,JSONPath=".spec.memory"
// +kubebuilder:printcolumn:name="MACHINES",type=integer,JSONPath=".status.machines"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="WAITING",type=string,priority=1,JSONPath=".status.waiting"
type VMClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMClassSpec `json:"spec"`

	// Status of the object in Kubernetes.
	// +optional
	Status UseStatus `json:"status,omitempty,omitzero"`
}

// VMClassList is a list of VMClasses.
//
// +kubebuilder:object:root=true
type VMClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []VMClass `json:"items"`
}

// VMClassSpec are the settings of machines of the class. When a machine changes to another
// class, settings of the virtual hardware that the new class doesn't have stay.
//
// +kubebuilder:validation:XValidation:rule="!has(self.hugepages) || has(self.numa) || has(self.hotplugMemory) && self.hotplugMemory",message="hugepages needs numa: add numa: {}"
// +kubebuilder:validation:XValidation:rule="!(has(self.keepHugepages) && self.keepHugepages) || has(self.hugepages)",message="keepHugepages needs hugepages"
// +kubebuilder:validation:XValidation:rule="!(has(self.hotplugMemory) && self.hotplugMemory) || !has(self.numa) || !has(self.numa.nodes)",message="memory can't be plugged into numa.nodes: leave one of them out"
// +kubebuilder:validation:XValidation:rule="!has(self.maxCPUs) || self.maxCPUs >= self.cpus",message="maxCPUs is less than cpus: raise it, or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.sockets) || (has(self.maxCPUs) ? self.maxCPUs : self.cpus) % self.sockets == 0",message="the CPUs can't be spread evenly over the sockets: choose a number that divides them, or leave sockets out"
// +kubebuilder:validation:XValidation:rule="isQuantity(string(self.memory)) && quantity(string(self.memory)).compareTo(quantity('16Mi')) >= 0",message="want at least 16Mi of memory: a number without a unit counts bytes, so write 4Gi or 512Mi"
// +kubebuilder:validation:XValidation:rule="!has(self.minMemory) || !isQuantity(string(self.memory)) || isQuantity(string(self.minMemory)) && quantity(string(self.minMemory)).compareTo(quantity(string(self.memory))) <= 0",message="minMemory is more than memory: lower it, or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.minMemory) || isQuantity(string(self.minMemory)) && quantity(string(self.minMemory)).compareTo(quantity('0')) >= 0",message="minMemory is negative: give an amount of memory such as 2Gi, or leave it out"
type VMClassSpec struct {
	// SharedWith names the namespaces whose machines may refer to this object, "*" for all.
	// Default: only its own.
	// +optional
	SharedWith Namespaces `json:"sharedWith,omitempty"`

	// CPUs that the guest sees.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	CPUs int `json:"cpus"`

	// Memory, such as "4Gi", rounded up to whole MiB.
	Memory resource.Quantity `json:"memory"`

	// MaxCPUs allows to change CPUs while machines run: up to that many can be hot-plugged. A
	// change of MaxCPUs itself needs a restart.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	MaxCPUs int `json:"maxCPUs,omitempty"`

	// HotplugMemory allows to change memory while machines run. Memory is then at least 1Gi
	// and comes in blocks: of 512Mi at first, larger ones later. Turning it on or off needs a
	// restart.
	// +optional
	HotplugMemory bool `json:"hotplugMemory,omitempty"`

	// MinMemory is the memory that the guest keeps when the node is short of memory; the
	// balloon driver releases the rest. "0" turns the balloon off.
	// +optional
	MinMemory *resource.Quantity `json:"minMemory,omitempty"`

	// Sockets that the CPUs are spread over. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Sockets int `json:"sockets,omitempty"`

	// CPU are settings of the CPUs beside their number.
	// +optional
	CPU *VMClassCPU `json:"cpu,omitempty"`

	// NUMA shows NUMA nodes to the guest.
	// +optional
	NUMA *VMClassNUMA `json:"numa,omitempty"`

	// Hugepages backs the memory with large pages of the node: "2Mi", "1Gi" or "any".
	// Needs numa, and root@pam with its password.
	// +optional
	// +kubebuilder:validation:Enum="2Mi";"1Gi";any
	Hugepages string `json:"hugepages,omitempty"`

	// KeepHugepages keeps the pages reserved when a machine is off.
	// +optional
	KeepHugepages bool `json:"keepHugepages,omitempty"`

	// Spec are further settings of the machine.
	// +optional
	Spec VMClassMachine `json:"spec,omitempty"`

	// Storage of the machine's disks.
	// +optional
	Storage *VMClassStorage `json:"storage,omitempty"`

	// ExtraConfig are further options of Proxmox, spelled as in its API and
	// checked against it: {"cpulimit": "1.5", "watchdog": "i6300esb,action=reset"}.
	// +optional
	ExtraConfig map[string]string `json:"extraConfig,omitempty"`
}

// VMClassMachine are settings of the virtual hardware.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.secureBoot) && self.secureBoot) || has(self.bios) && self.bios in ['uefi', 'ovmf']",message="secureBoot needs bios: uefi"
type VMClassMachine struct {
	// Machine is the board: "q35", "i440fx", or one with its version such as
	// "pc-q35-9.0".
	// +optional
	Machine string `json:"machine,omitempty"`

	// BIOS is "seabios" or "uefi". With uefi machines get an EFI disk, and the
	// board is q35 if none is named.
	// +optional
	// +kubebuilder:validation:Enum=seabios;bios;uefi;ovmf
	BIOS string `json:"bios,omitempty"`

	// SecureBoot creates the EFI disk with the standard keys enrolled. Needs uefi.
	// +optional
	SecureBoot bool `json:"secureBoot,omitempty"`

	// TPM adds a TPM 2.0.
	// +optional
	TPM bool `json:"tpm,omitempty"`

	// CPUType is the kind of processor: "host", "x86-64-v2-AES", …, with flags if
	// need be: "host,flags=+aes".
	// +optional
	CPUType string `json:"cpuType,omitempty"`

	// SCSIController is the model of the controller for disks on the SCSI bus:
	// "virtio-scsi-single", "virtio-scsi-pci", …
	// +optional
	SCSIController string `json:"scsiController,omitempty"`

	// VGA is the display: "std", "serial0", "virtio", "none", …
	// +optional
	VGA string `json:"vga,omitempty"`

	// Serial adds a serial console.
	// +optional
	Serial bool `json:"serial,omitempty"`
}

// VMClassCPU are settings of the CPUs.
type VMClassCPU struct {
	// Flags are features of the processor that are turned on or off: "+aes", "-pcid".
	// Needs cpuType. A change needs a restart.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=32
	// +listType=atomic
	Flags []string `json:"flags,omitempty"`

	// Limit is how much CPU time of the node a machine may use, in CPUs: "1.5". Changes are
	// live.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Limit string `json:"limit,omitempty"`

	// Units are the machine's weight when the node is busy. The weight of others is 100 by
	// default. Changes are live.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Units int `json:"units,omitempty"`

	// Affinity are the CPUs of the node that machines run on: "0-3,8". A machine goes to a
	// node that has all of them. Only root@pam with its password may set it. A change needs
	// a restart.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Affinity string `json:"affinity,omitempty"`
}

// VMClassNUMA shows NUMA nodes to the guest: one for each socket, or those that are listed.
// A change needs a restart.
type VMClassNUMA struct {
	// Nodes with their CPUs and memory. The sum of their memory is that of the machine.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Nodes []NUMANode `json:"nodes,omitempty"`
}

// NUMANode is a NUMA node of the guest.
//
// +kubebuilder:validation:XValidation:rule="has(self.hostNodes) == has(self.policy)",message="hostNodes needs a policy, and policy needs hostNodes"
type NUMANode struct {
	// CPUs of the guest, counted from 0: "0-1", "0;2".
	// +kubebuilder:validation:MaxLength=128
	CPUs string `json:"cpus"`

	// Memory of the node.
	Memory resource.Quantity `json:"memory"`

	// HostNodes are the NUMA nodes of the host that the memory comes from: "0", "0-1".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	HostNodes string `json:"hostNodes,omitempty"`

	// Policy is "bind", "interleave" or "preferred".
	// +optional
	// +kubebuilder:validation:Enum=bind;interleave;preferred
	Policy string `json:"policy,omitempty"`
}

// VMClassStorage is the storage of the machines' disks.
type VMClassStorage struct {
	// Class is the name of a storage of Proxmox.
	// +optional
	Class string `json:"class,omitempty"`

	// Type is "thin" or "thick". On storages that keep disks as files, thin ones
	// are qcow2 and thick ones raw; on others the storage decides.
	// +optional
	// +kubebuilder:validation:Enum=thin;thick
	Type string `json:"type,omitempty"`
}
