package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProxmoxTemplate is a template that proxplane makes from an image and manages, on every
// Proxmox node that can run machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=karpenter
// +kubebuilder:printcolumn:name="Zones",type=string,JSONPath=`.status.resources.zones`,description="Proxmox nodes that have the template"
// +kubebuilder:printcolumn:name="Machine",type=string,JSONPath=`.spec.machine`
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.spec.cpu.type`
// +kubebuilder:printcolumn:name="VGA",type=string,JSONPath=`.spec.vga.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ProxmoxTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TemplateSpec `json:"spec"`
	// Status of the template.
	// +optional
	Status TemplateStatus `json:"status,omitempty"`
}

// ProxmoxTemplateList is a list of ProxmoxTemplates.
//
// +kubebuilder:object:root=true
type ProxmoxTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the templates.
	Items []ProxmoxTemplate `json:"items"`
}

// TemplateSpec is the wanted state of a template.
type TemplateSpec struct {
	// Region is the Proxmox cluster that gets the template: the name of a Provider, or its label
	// karpenter.proxmox.sinextra.dev/region. Default: all regions.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Region string `json:"region,omitempty"`

	// Description is shown in Proxmox.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Description string `json:"description,omitempty"`

	// SourceImage is what the template is made from.
	SourceImage SourceImage `json:"sourceImage"`

	// StorageIDs are the storages for the downloaded image and for the disk of the template, which
	// need the contents import and images. Of several, the first that is suitable is used.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	StorageIDs []string `json:"storageIDs"`

	// Machine is the board: pc or q35.
	// +optional
	// +kubebuilder:default=q35
	// +kubebuilder:validation:Enum=pc;q35
	Machine string `json:"machine,omitempty"`

	// BIOS is seabios or ovmf.
	// +optional
	// +kubebuilder:default=seabios
	// +kubebuilder:validation:Enum=seabios;ovmf
	BIOS string `json:"bios,omitempty"`

	// TPM gives machines a TPM.
	// +optional
	TPM *TPM `json:"tpm,omitempty"`

	// Agent are settings of the guest agent.
	// +optional
	Agent *Agent `json:"agent,omitempty"`

	// CPU are settings of the CPUs.
	// +optional
	// +kubebuilder:default={type: "x86-64-v2-AES"}
	CPU *CPU `json:"cpu,omitempty"`

	// VGA is the display.
	// +optional
	VGA *VGA `json:"vga,omitempty"`

	// Network are the network interfaces.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	Network []Network `json:"network"`

	// PCIDevices are devices of the Proxmox nodes that machines get.
	// +optional
	// +kubebuilder:validation:MaxItems=6
	PCIDevices []PCIDevice `json:"pciDevices,omitempty"`

	// Tags are the tags of the template and of the machines that are made from it.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=64
	Tags []string `json:"tags,omitempty"`

	// ResourcePool is the pool that machines are put into, unless their ProxmoxNodeClass names one.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*(/[a-zA-Z0-9][a-zA-Z0-9._-]*){0,2}$`
	ResourcePool string `json:"resourcePool,omitempty"`

	// OnBoot starts machines when their Proxmox node boots.
	// +optional
	OnBoot *bool `json:"onBoot,omitempty"`
}

// SourceImage is a disk image that Proxmox downloads.
//
// +kubebuilder:validation:XValidation:rule="!has(self.checksumType) || has(self.checksum)",message="checksumType needs a checksum"
type SourceImage struct {
	// URL of the image: qcow2, raw or vmdk, also compressed as xz, gz, bz2, zst or lzo.
	// +kubebuilder:validation:Pattern=`^https?://\S+$`
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// ImageName is a name of the image for people. The file in Proxmox has a name that follows from URL
	// and checksum, so that another content is another file. Default: the last part of the URL.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ImageName string `json:"imageName,omitempty"`

	// Checksum is verified after the download. Another checksum is another template, also with the same URL.
	// +optional
	// +kubebuilder:validation:MinLength=32
	// +kubebuilder:validation:MaxLength=128
	Checksum string `json:"checksum,omitempty"`

	// ChecksumType is the kind of the checksum. Default: by its length.
	// +optional
	// +kubebuilder:validation:Enum=md5;sha1;sha224;sha256;sha384;sha512
	ChecksumType string `json:"checksumType,omitempty"`
}

// TPM is a TPM of machines.
type TPM struct {
	// Version is v1.2 or v2.0.
	// +optional
	// +kubebuilder:default="v2.0"
	// +kubebuilder:validation:Enum=v1.2;v2.0
	Version string `json:"version,omitempty"`
}

// Agent are settings of the guest agent.
type Agent struct {
	// Enabled says that the agent is in the image.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`

	// Type is how Proxmox reaches it: virtio or isa.
	// +optional
	// +kubebuilder:default=virtio
	// +kubebuilder:validation:Enum=virtio;isa
	Type string `json:"type,omitempty"`

	// FsFreezeOnBackup freezes file systems for backups.
	// +optional
	FsFreezeOnBackup *bool `json:"fsFreezeOnBackup,omitempty"`

	// FsTrimClonedDisks trims disks that were cloned or moved.
	// +optional
	FsTrimClonedDisks *bool `json:"fsTrimClonedDisks,omitempty"`
}

// CPU are settings of the CPUs.
type CPU struct {
	// Type is the kind of CPU.
	// +optional
	// +kubebuilder:default="x86-64-v2-AES"
	// +kubebuilder:validation:Enum=host;kvm64;"x86-64-v2";"x86-64-v2-AES";"x86-64-v3";"x86-64-v4"
	Type string `json:"type,omitempty"`

	// Flags are added or removed: a text such as +pdpe1gb, or a list of such texts.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Flags CPUFlags `json:"flags,omitempty"`
}

// VGA is the display of machines.
type VGA struct {
	// Type of the display.
	// +optional
	// +kubebuilder:default=std
	// +kubebuilder:validation:Enum=none;serial0;std;vmware
	Type string `json:"type,omitempty"`

	// Memory of the display in MiB.
	// +optional
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=512
	Memory *int `json:"memory,omitempty"`
}

// Network is a network interface.
type Network struct {
	// Name of the slot in Proxmox, such as net0. Default: by the place in the list.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8
	Name string `json:"name,omitempty"`

	// Bridge that the interface is connected to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Bridge string `json:"bridge"`

	// Model is the kind of card.
	// +optional
	// +kubebuilder:default=virtio
	// +kubebuilder:validation:Enum=e1000;e1000e;rtl8139;virtio;vmxnet3
	Model string `json:"model,omitempty"`

	// MTU of the interface; 1 is that of the bridge.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:XValidation:rule="self == 1 || (self >= 576 && self <= 65520)",message="must be 1, for that of the bridge, or from 576 to 65520"
	MTU *int `json:"mtu,omitempty"`

	// VLAN tag of the interface.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN *int `json:"vlan,omitempty"`

	// Firewall turns Proxmox' firewall on for the interface.
	// +optional
	Firewall *bool `json:"firewall,omitempty"`

	// Address4 is dhcp, or a prefix such as 10.1.0.0/24 or a range such as 10.1.0.10-10.1.0.99/24 that
	// machines get addresses from.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Address4 string `json:"address4,omitempty"`

	// Address6 is dhcp, auto, or a prefix or range that machines get addresses from.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Address6 string `json:"address6,omitempty"`

	// Gateway4 is the router for IPv4.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Gateway4 string `json:"gateway4,omitempty"`

	// Gateway6 is the router for IPv6.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	Gateway6 string `json:"gateway6,omitempty"`

	// DNSServers are the addresses of name servers.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=45
	DNSServers []string `json:"dnsServers,omitempty"`
}

// PCIDevice is a device of the Proxmox nodes, by the name of its mapping.
type PCIDevice struct {
	// Mapping is the name of the mapping in Proxmox.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Mapping string `json:"mapping"`

	// MDev is the type of the mediated device.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	MDev string `json:"mdev,omitempty"`

	// PCIe shows the device as PCI Express, which needs the board q35.
	// +optional
	PCIe *bool `json:"pcie,omitempty"`

	// XVGA makes the device the machine's primary display.
	// +optional
	XVGA *bool `json:"xvga,omitempty"`
}
