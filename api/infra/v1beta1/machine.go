package v1beta1

import "k8s.io/apimachinery/pkg/util/intstr"

// MachineSpec is what VirtualMachines and VMClones have in common.
type MachineSpec struct {
	// Name of the machine in Proxmox, and its host name. Default: the name of the
	// object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$')",message="want a host name of letters, digits, - and ., with at most 63 of them between dots"
	Name string `json:"name,omitempty"`

	// VMID of the machine. Default: one of the Provider's range that follows from the object.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	VMID int `json:"vmid,omitempty"`

	// PowerState is On, Off or OffGraceful. Default: On.
	// +optional
	// +kubebuilder:default=On
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Enum={"On","Off","OffGraceful",true,false}
	PowerState PowerState `json:"powerState,omitempty"`

	// Networks are the network interfaces, in their order. Without any, the machine has those
	// of its template. A machine without a template has one interface, named "default", or
	// none if this is an empty list.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Networks []Network `json:"networks,omitempty"`

	// Disks are the disks. The one named "root" is the image's own; others are
	// added to it. A machine that isn't made from a template must have one named
	// "root", unless this is an empty list.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Disks []Disk `json:"disks,omitempty"`

	// UserData is the first-boot data of the guest.
	// +optional
	UserData *UserData `json:"userData,omitempty"`

	// MetaData are further keys of cloud-init's meta-data. instance-id and local-hostname
	// replace proxplane's own.
	// +optional
	MetaData *MetaData `json:"metaData,omitempty"`

	// Variables are replaced in UserData: ${name} by the value of "name". There are also ${vm_id}, ${vm_name}, ${vm_count} and ${vm_index}, and of
	// each interface ${vm_mac}, ${vm_address}, ${vm_address6}, ${vm_gateway}, ${vm_gateway6} and ${vm_dns}, with the suffix _1 and so on for all but
	// the first. Other names stay unchanged; write $${name} for a literal ${name}. Without variables, cloudInit and ignition are used unchanged.
	// +optional
	Variables map[string]string `json:"variables,omitempty"`

	// Filesystems are directories of the node that the guest can mount.
	// +optional
	// +listType=map
	// +listMapKey=tag
	Filesystems []Filesystem `json:"filesystems,omitempty"`

	// Hookscripts run on the node, in this order, whenever the machine starts and stops:
	// "local:snippets/notify.sh". A script that fails before the start prevents the start.
	// Only root@pam with its password may set them; several need proxplane's hook on the node.
	// +optional
	Hookscripts []string `json:"hookscripts,omitempty"`

	// Tags of the machine in Proxmox. Tags that others have set stay.
	// +optional
	Tags []string `json:"tags,omitempty"`

	// Description is the notes of the machine in Proxmox.
	// +optional
	// +kubebuilder:validation:MaxLength=6144
	Description string `json:"description,omitempty"`

	// Pool that the machine belongs to. The machine leaves the pool when this field is
	// removed.
	// +optional
	Pool string `json:"pool,omitempty"`

	// OnBoot starts the machine with its node.
	// +optional
	OnBoot *bool `json:"onBoot,omitempty"`

	// Startup says when the machine starts and stops with its node.
	// +optional
	Startup *Startup `json:"startup,omitempty"`

	// Protection keeps Proxmox from destroying the machine or its disks.
	// +optional
	Protection *bool `json:"protection,omitempty"`

	// HA puts the machine under Proxmox' high-availability manager; ha: {} is enough.
	// +optional
	HA *HA `json:"ha,omitempty"`

	// Firewall is the machine's firewall in Proxmox. Without it, the firewall of the template
	// stays as it is.
	// +optional
	Firewall *Firewall `json:"firewall,omitempty"`

	// Agent is about the QEMU guest agent.
	// +optional
	Agent *Agent `json:"agent,omitempty"`

	// PCIMappings are PCI devices that the machine gets, by their mappings. A new machine goes
	// to a node that has as many devices of them.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	PCIMappings []PCIMapping `json:"pciMappings,omitempty"`

	// PlacementRef names the VMPlacementPolicy.
	// +optional
	PlacementRef *SharedRef `json:"placementRef,omitempty"`

	// DeletionGracePeriodSeconds is how long a running machine may take to shut down
	// when it is deleted, before it is stopped. 0 stops it at once. Default: 60 in
	// Kubernetes, 0 on the command line.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	DeletionGracePeriodSeconds *int `json:"deletionGracePeriodSeconds,omitempty"`

	// DeletionPolicy is Delete or Retain. Default: Delete; for a machine that was
	// adopted: Retain.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// UpdatePolicy says which disruptive steps may be taken to bring the machine up to
	// date.
	// +optional
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`

	// ExtraConfig are further options of Proxmox, added to those of the class.
	// +optional
	ExtraConfig map[string]string `json:"extraConfig,omitempty"`
}

// Startup says when a machine starts and stops with its node.
type Startup struct {
	// Order of the machine: machines with a lower number start first and stop last.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Order *int `json:"order,omitempty"`

	// UpDelay is the number of seconds before the next machine is started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpDelay *int `json:"upDelay,omitempty"`

	// DownDelay is the number of seconds that it may take to shut down.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DownDelay *int `json:"downDelay,omitempty"`
}

// HA are the machine's settings of the high-availability manager.
type HA struct {
	// Group is the name of a group of nodes (Proxmox VE 8), or of a node affinity rule (9), which the machine is added to.
	// +optional
	Group string `json:"group,omitempty"`

	// MaxRestart is how often a failed start is retried on the same node.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRestart int `json:"maxRestart,omitempty"`

	// MaxRelocate is how often it is then retried on another node.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRelocate int `json:"maxRelocate,omitempty"`
}

// Agent is about the QEMU guest agent.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.enabled) && !self.enabled && has(self.waitForAddress) && self.waitForAddress)",message="nobody tells an address without the agent: leave waitForAddress out, or enable the agent"
type Agent struct {
	// Enabled lets Proxmox use the agent. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// WaitForAddress: the machine is ready only when the agent has reported an address.
	// Default: true if the agent is enabled, here or in the template.
	// +optional
	WaitForAddress *bool `json:"waitForAddress,omitempty"`

	// TrimClonedDisks trims the guest's disks after they were copied or moved.
	// +optional
	TrimClonedDisks bool `json:"trimClonedDisks,omitempty"`
}

// PCIMapping is a PCI device of the machine's node.
type PCIMapping struct {
	// Name of the mapping in Proxmox.
	Name string `json:"name"`

	// PCIe shows the device as PCI Express. Needs the board q35.
	// +optional
	PCIe bool `json:"pcie,omitempty"`

	// PrimaryGPU makes the device the machine's display.
	// +optional
	PrimaryGPU bool `json:"primaryGPU,omitempty"`

	// MDev is the type of the mediated device.
	// +optional
	MDev string `json:"mdev,omitempty"`
}

// UpdatePolicy says which disruptive steps may be taken to bring a machine up to date. Each
// is Never or Allow. Default: Never; the step is then reported and left to a person.
type UpdatePolicy struct {
	// MaxUnavailable is how many machines may be unavailable at once while they are restarted or
	// replaced: a number, or a part such as "25%", of all machines of the same VMClass, in all
	// namespaces and Providers (for the command line: in all manifests that it reads), and of
	// those that one object with a count stands for. The next machine follows when the one
	// before is ready again; if one doesn't become ready, or can't be asked, the others stay as
	// they are. Default: 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^(100|[1-9][0-9]?)%$')",message="want a number from 1 on, or a part such as 25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Restart a running machine, for changes that can't be applied while it runs.
	// +optional
	Restart Permission `json:"restart,omitempty"`

	// Replace the machine: destroy and recreate it.
	// +optional
	Replace Permission `json:"replace,omitempty"`

	// Move the machine to another node if its placement policy doesn't allow its present one.
	// A running machine is migrated live.
	// +optional
	Move Permission `json:"move,omitempty"`

	// ScaleDown destroys machines beyond a count that was made smaller.
	// +optional
	ScaleDown Permission `json:"scaleDown,omitempty"`

	// RemoveDisks that are no longer named, with their data; also, roll back to snapshots.
	// +optional
	RemoveDisks Permission `json:"removeDisks,omitempty"`

	// ShutdownTimeout is how long the guest may take to shut down when it is
	// restarted, or when powerState is OffGraceful: 90s, 5m. Default: as Proxmox is
	// set up, which is a minute unless the start order says otherwise.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	ShutdownTimeout string `json:"shutdownTimeout,omitempty"`

	// Stop the machine by force if its guest hasn't shut down in that time. With Never, it
	// keeps running, and isn't asked again.
	// +optional
	Stop Permission `json:"stop,omitempty"`
}
