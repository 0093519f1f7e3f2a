package v1beta1

import "k8s.io/apimachinery/pkg/api/resource"

// Disk is a disk of a machine.
//
// +kubebuilder:validation:XValidation:rule="self.name == 'root' || has(self.size)",message="size is missing: only root may leave it out, and is then as large as in the image"
// +kubebuilder:validation:XValidation:rule="!has(self.size) || type(self.size) != int || int(self.size) >= 16384",message="want a size such as 40Gi: a number without a unit counts bytes"
// +kubebuilder:validation:XValidation:rule="!has(self.size) || type(self.size) != string || ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0.1', '0.2', '0.3', '0.4', '0.5', '0.6', '0.7', '0.8', '0.9', '0.01', '0.02', '0.03', '0.04', '0.05', '0.06', '0.07', '0.08', '0.09'].exists(p, self.size.startsWith(p))",message="want a size above zero, such as 40Gi"
// +kubebuilder:validation:XValidation:rule="self.name != 'root' || !(has(self.bus) || has(self.slot))",message="root is where the image has it: leave bus and slot out, they are for further disks"
// +kubebuilder:validation:XValidation:rule="!has(self.ssd) || !has(self.bus) || self.bus != 'virtio'",message="disks on the virtio bus can't say that they are SSDs: use scsi, or leave ssd out"
type Disk struct {
	// Name of the disk. "root" is the disk that the machine boots from. The guest sees the
	// names of the others as their serial numbers.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
	Name string `json:"name"`

	// Size, such as "40Gi", rounded up to whole 64Mi. A larger one grows the disk;
	// smaller is refused. It can be left out for root, which is then as large as in
	// the image.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// Storage of Proxmox. Default: that of the class, else the Provider's, else that of the
	// root disk.
	// +optional
	Storage string `json:"storage,omitempty"`

	// Type is "thin" or "thick", as in VMClass. Default: that of the class.
	// +optional
	// +kubebuilder:validation:Enum=thin;thick
	Type string `json:"type,omitempty"`

	// Bus is "scsi", "virtio" or "sata". Default: scsi. Not for root.
	// +optional
	// +kubebuilder:validation:Enum=scsi;virtio;sata
	Bus string `json:"bus,omitempty"`

	// Slot of the disk, such as "scsi3". Default: a free one; the disk is then identified by
	// its serial number. Not for root.
	// +optional
	// +kubebuilder:validation:Pattern="^(scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|sata[0-5]|ide[013])$"
	Slot string `json:"slot,omitempty"`

	// SSD shows the disk to the guest as an SSD.
	// +optional
	SSD *bool `json:"ssd,omitempty"`

	// Discard frees space on the storage that the guest doesn't use any more.
	// +optional
	Discard *bool `json:"discard,omitempty"`

	// IOThread gives the disk an I/O thread of its own.
	// +optional
	IOThread *bool `json:"ioThread,omitempty"`

	// Cache is "none", "writethrough", "writeback", "directsync" or "unsafe".
	// +optional
	// +kubebuilder:validation:Enum=none;writethrough;writeback;directsync;unsafe
	Cache string `json:"cache,omitempty"`

	// Backup includes the disk in backups. Default: true.
	// +optional
	Backup *bool `json:"backup,omitempty"`
}
