package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VMImage is what machines are made from: a template that is there, a disk
// image that is fetched, or an ISO image to install from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=virtrigaud
type VMImage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VMImageSpec `json:"spec"`
}

// VMImageSpec says what the image is. Exactly one of source, url and iso is
// given.
type VMImageSpec struct {
	// ProviderRef names the Provider that has it. It can be left out: the image
	// is then for all Providers whose machines use it.
	// +optional
	ProviderRef *Ref `json:"providerRef,omitempty"`

	// Source is the name of a template in Proxmox, or the VMID of a template or
	// VM as a text: "9000". Of templates with the same name on several nodes, the
	// one that suits the machine's node is taken.
	// +optional
	Source string `json:"source,omitempty"`

	// URL of a disk image (qcow2, raw or vmdk). Proxmox fetches it, once, and a
	// template is made of it.
	// +optional
	URL string `json:"url,omitempty"`

	// Checksum of what URL gives. When it changes, a new template is made before
	// the old one goes.
	// +optional
	Checksum string `json:"checksum,omitempty"`

	// ChecksumType is "md5", "sha1", "sha224", "sha256", "sha384" or "sha512". It
	// can be left out: the length of the checksum tells.
	// +optional
	ChecksumType string `json:"checksumType,omitempty"`

	// ISO is an ISO image that is on a storage already: "local:iso/debian.iso",
	// or only its name. Machines get an empty root disk and the ISO in a drive.
	// +optional
	ISO string `json:"iso,omitempty"`

	// Storage is where the disk of a fetched image goes, or where ISO is.
	// Default: the Provider's.
	// +optional
	Storage string `json:"storage,omitempty"`

	// OS says what is inside.
	// +optional
	OS VMImageOS `json:"os,omitempty"`
}

// VMImageOS says what is inside an image.
type VMImageOS struct {
	// Type of the operating system in Proxmox' words: "l26" is Linux, "win11",
	// "other", … Default: l26 for fetched images.
	// +optional
	Type string `json:"type,omitempty"`

	// Ignition is the newest version of Ignition's configs that the image reads,
	// such as "3.4.0". Machines with a newer one are refused before they are made.
	// +optional
	Ignition string `json:"ignition,omitempty"`

	// Agent tells that the QEMU guest agent is installed.
	// +optional
	Agent bool `json:"agent,omitempty"`

	// BIOS is what the image boots with, "seabios" or "uefi"; machines whose
	// class doesn't say have it too.
	// +optional
	// +kubebuilder:validation:Enum=seabios;bios;uefi;ovmf
	BIOS string `json:"bios,omitempty"`
}
