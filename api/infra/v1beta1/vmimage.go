package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMImage is what machines are made from: an existing template, a disk image that is
// fetched, or an ISO image to install from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pximage,categories=virtrigaud
// +kubebuilder:printcolumn:name="NODE",type=string,JSONPath=".status.node"
// +kubebuilder:printcolumn:name="VMID",type=integer,JSONPath=".status.vmid"
// +kubebuilder:printcolumn:name="MACHINES",type=integer,JSONPath=".status.machines"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="WAITING",type=string,priority=1,JSONPath=".status.waiting"
type VMImage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMImageSpec `json:"spec"`

	// Status of the object in Kubernetes.
	// +optional
	Status ImageStatus `json:"status,omitempty,omitzero"`
}

// VMImageList is a list of VMImages.
//
// +kubebuilder:object:root=true
type VMImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []VMImage `json:"items"`
}

// VMImageSpec says what the image is. Exactly one of source, url and iso is
// given.
//
// +kubebuilder:validation:XValidation:rule="[has(self.source), has(self.url), has(self.iso)].filter(given, given).size() == 1",message="an image is one of source, url and iso: give exactly one of them"
// +kubebuilder:validation:XValidation:rule="has(self.url) || !(has(self.checksum) || has(self.checksumType))",message="checksum is for images with a url: leave it out, or give the url"
// +kubebuilder:validation:XValidation:rule="has(self.source) || !has(self.sourceSelector)",message="sourceSelector is for a source: give the name of a template there"
// +kubebuilder:validation:XValidation:rule="has(self.checksum) || !has(self.checksumType)",message="checksum is missing beside checksumType"
// +kubebuilder:validation:XValidation:rule="!has(self.iso) || !has(self.nodes)",message="nodes is for images with a url or a source: leave it out"
// +kubebuilder:validation:XValidation:rule="has(self.source) || !has(self.copies)",message="copies is for images with a source: leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.copies) || self.copies != 'never' || !has(self.nodes)",message="nodes are the nodes that get copies, and copies: never says that there are none: leave one out"
type VMImageSpec struct {
	// SharedWith names the namespaces whose machines may refer to this object, "*" for all.
	// Default: only its own.
	// +optional
	SharedWith Namespaces `json:"sharedWith,omitempty"`

	// ProviderRef names the Provider that has the image. It can be left out: the image is then
	// for all Providers whose machines use it.
	// +optional
	ProviderRef *Ref `json:"providerRef,omitempty"`

	// Source is the name of a template in Proxmox, or the VMID of a template or
	// VM as a text: "9000". Of templates with the same name on several nodes, the
	// one that suits the machine's node is taken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Source string `json:"source,omitempty"`

	// SourceSelector selects the template if others may have the same name: names aren't
	// unique in Proxmox, and whoever may configure a VM may rename it. All fields that are
	// given must match.
	// +optional
	SourceSelector *SourceSelector `json:"sourceSelector,omitempty"`

	// URL of a disk image (qcow2, raw or vmdk). Proxmox fetches it, and a template is
	// made of it: one on a shared storage, or one on each node that machines are placed
	// on, where storages are local. Packed images (.xz, .bz2, .gz, .zst, .lzo, and .ova with one
	// disk) are fetched, unpacked and uploaded by proxplane itself, which Proxmox doesn't do.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^@/]+/.+$')",message="want a URL like https://example.com/debian.qcow2, without a password in it"
	// +kubebuilder:validation:XValidation:rule="!self.matches('[.]iso$')",message="an .iso isn't a disk image: put it on a storage and name it in spec.iso"
	URL string `json:"url,omitempty"`

	// Checksum of the file at URL, packed as it is. When it changes, a new template is made
	// before the old one is removed.
	// +optional
	Checksum string `json:"checksum,omitempty"`

	// ChecksumType is "md5", "sha1", "sha224", "sha256", "sha384" or "sha512". It can be left
	// out: it then follows from the length of the checksum.
	// +optional
	// +kubebuilder:validation:Enum=md5;sha1;sha224;sha256;sha384;sha512
	ChecksumType string `json:"checksumType,omitempty"`

	// ISO is an ISO image that is on a storage already: "local:iso/debian.iso",
	// or only its name. Machines get an empty root disk and the ISO in a drive.
	// +optional
	ISO string `json:"iso,omitempty"`

	// Storage for the disk of a fetched image, or the storage that has ISO. Default: the
	// Provider's.
	// +optional
	Storage string `json:"storage,omitempty"`

	// Copies says whether a source with local disks is copied when a machine is placed on a node
	// that has no template of the name: "auto" copies it, by a clone that is migrated, and
	// "never" keeps machines on the nodes that have one. Copies are removed with the image.
	// Default: auto.
	// +optional
	// +kubebuilder:validation:Enum=auto;never
	Copies string `json:"copies,omitempty"`

	// Nodes that get a template of the image before a machine needs it there, "*" for all.
	// Other nodes get one when a machine is placed on them. Where templates are on a shared
	// storage one is enough for all nodes.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Nodes []string `json:"nodes,omitempty"`

	// OS describes the system in the image.
	// +optional
	OS VMImageOS `json:"os,omitempty"`
}

// SourceSelector selects one of several templates of the same name.
//
// +kubebuilder:validation:MinProperties=1
type SourceSelector struct {
	// Pool that the template is in. Whoever may put VMs into it (Pool.Allocate) decides which
	// templates match.
	// +optional
	Pool string `json:"pool,omitempty"`

	// Tag of the template. Use one that Proxmox lets only administrators give
	// (registered-tags of the datacenter): others may tag their own VMs.
	// +optional
	Tag string `json:"tag,omitempty"`

	// Nodes that have it.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Nodes []string `json:"nodes,omitempty"`

	// Storage of its first disk.
	// +optional
	Storage string `json:"storage,omitempty"`
}

// VMImageOS describes the system in an image.
type VMImageOS struct {
	// Type of the operating system in Proxmox' words: "l26" is Linux, "win11",
	// "other", … Default: l26 for fetched images.
	// +optional
	Type string `json:"type,omitempty"`

	// Ignition is the newest version of Ignition's configs that the image reads,
	// such as "3.4.0". Machines with a newer one are refused before they are made.
	// +optional
	Ignition string `json:"ignition,omitempty"`

	// Agent says whether the QEMU guest agent is installed.
	// +optional
	Agent bool `json:"agent,omitempty"`

	// BIOS is what the image boots with, "seabios" or "uefi"; it is the default of machines
	// whose class has none.
	// +optional
	// +kubebuilder:validation:Enum=seabios;bios;uefi;ovmf
	BIOS string `json:"bios,omitempty"`
}
