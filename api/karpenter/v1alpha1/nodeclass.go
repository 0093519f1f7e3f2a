package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ProxmoxNodeClass says how Karpenter's nodes are made: from which template, where, with which
// first-boot data. NodePools refer to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=karpenter
// +kubebuilder:printcolumn:name="Zones",type=string,JSONPath=`.status.resources.zones`,description="Proxmox nodes that nodes can be made on"
// +kubebuilder:printcolumn:name="Balance",type=string,JSONPath=`.spec.placementStrategy.zoneBalance`
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.instanceTemplateRef.name`
// +kubebuilder:printcolumn:name="Metadata",type=string,JSONPath=`.spec.metadataOptions.type`
// +kubebuilder:printcolumn:name="Disk",type=string,JSONPath=`.spec.bootDevice.size`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ProxmoxNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodeClassSpec `json:"spec"`
	// Status of the class.
	// +optional
	Status NodeClassStatus `json:"status,omitempty"`
}

// ProxmoxNodeClassList is a list of ProxmoxNodeClasses.
//
// +kubebuilder:object:root=true
type ProxmoxNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the classes.
	Items []ProxmoxNodeClass `json:"items"`
}

// NodeClassSpec says how nodes are made.
type NodeClassSpec struct {
	// Region is the Proxmox cluster that nodes are made on: the name of a Provider, or its label
	// karpenter.proxmox.sinextra.dev/region. Default: any region that has the template.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Region string `json:"region,omitempty"`

	// PlacementStrategy says on which Proxmox nodes nodes are made.
	// +optional
	// +kubebuilder:default={zoneBalance: "Balanced"}
	PlacementStrategy *PlacementStrategy `json:"placementStrategy,omitempty"`

	// InstanceTemplateRef is what nodes are made from.
	InstanceTemplateRef InstanceTemplateRef `json:"instanceTemplateRef"`

	// BootDevice is the disk that nodes boot from.
	// +optional
	// +kubebuilder:default={size: "30G"}
	BootDevice *BootDevice `json:"bootDevice,omitempty"`

	// KubeletConfiguration are settings of the kubelet of nodes. Templates of first-boot data have
	// them as .KubeletConfiguration.
	// +optional
	KubeletConfiguration *KubeletConfiguration `json:"kubeletConfiguration,omitempty"`

	// Tags are the tags of machines. A change is made in place.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=64
	Tags []string `json:"tags,omitempty"`

	// MetadataOptions are the first-boot data of nodes.
	// +optional
	// +kubebuilder:default={type: "none"}
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`

	// SecurityGroups are security groups of Proxmox' firewall that apply to nodes. A change is made in place.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`

	// ResourcePool is the pool that machines are put into. A change is made in place.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*(/[a-zA-Z0-9][a-zA-Z0-9._-]*){0,2}$`
	ResourcePool string `json:"resourcePool,omitempty"`
}

// Values of zoneBalance.
const (
	// ZoneBalanced spreads nodes over the Proxmox nodes that can take them.
	ZoneBalanced = "Balanced"
	// ZoneAvailabilityFirst fills a Proxmox node before it uses another one.
	ZoneAvailabilityFirst = "AvailabilityFirst"
)

// PlacementStrategy says on which Proxmox nodes nodes are made.
type PlacementStrategy struct {
	// ZoneBalance is Balanced, which spreads nodes over Proxmox nodes, or AvailabilityFirst, which fills
	// Proxmox nodes that are in use before others.
	// +optional
	// +kubebuilder:default=Balanced
	// +kubebuilder:validation:Enum=Balanced;AvailabilityFirst
	ZoneBalance string `json:"zoneBalance,omitempty"`
}

// Kinds of templates.
const (
	KindTemplate          = "ProxmoxTemplate"
	KindUnmanagedTemplate = "ProxmoxUnmanagedTemplate"
	KindNodeClass         = "ProxmoxNodeClass"
)

// InstanceTemplateRef names a template.
type InstanceTemplateRef struct {
	// Kind is ProxmoxTemplate or ProxmoxUnmanagedTemplate.
	// +kubebuilder:validation:Enum=ProxmoxTemplate;ProxmoxUnmanagedTemplate
	Kind string `json:"kind"`

	// Name of the template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// BootDevice is the disk that nodes boot from.
type BootDevice struct {
	// Size of the disk, such as 30G or 30Gi.
	// +optional
	// +kubebuilder:default="30G"
	// +kubebuilder:validation:Pattern=`^\d+(T|G|Ti|Gi)$`
	Size string `json:"size,omitempty"`

	// Storage that the disk is on. Default: that of the template.
	// +optional
	// +kubebuilder:validation:MaxLength=30
	Storage string `json:"storage,omitempty"`
}

// Values of metadataOptions.type.
const (
	MetadataNone  = "none"
	MetadataCDROM = "cdrom"
)

// MetadataOptions are the first-boot data of nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'cdrom' || has(self.templatesRef)",message="type cdrom needs templatesRef, the Secret with user-data"
type MetadataOptions struct {
	// Type is none, or cdrom for a drive with a NoCloud ISO image.
	// +optional
	// +kubebuilder:default=none
	// +kubebuilder:validation:Enum=none;cdrom
	Type string `json:"type,omitempty"`

	// TemplatesRef is the Secret with Go templates: user-data, meta-data, network-config and vendor-data.
	// +optional
	TemplatesRef *SecretRef `json:"templatesRef,omitempty"`

	// ValuesRef is the Secret whose entries templates have as .Values.
	// +optional
	ValuesRef *SecretRef `json:"valuesRef,omitempty"`
}

// SecretRef names a Secret.
type SecretRef struct {
	// Name of the Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Namespace of the Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// SecurityGroup is a security group of Proxmox' firewall.
type SecurityGroup struct {
	// Name of the group.
	// +kubebuilder:validation:MaxLength=30
	Name string `json:"name"`

	// Interface that the group applies to.
	// +optional
	// +kubebuilder:default=net0
	// +kubebuilder:validation:Pattern=`^net[0-9]+$`
	Interface string `json:"interface,omitempty"`
}
