package v1beta1

// Filesystem is a directory of the node that the guest can mount by a tag:
// mount -t virtiofs TAG DIR, or mount -t 9p -o trans=virtio TAG DIR.
type Filesystem struct {
	// Type is "virtiofs" or "9p". 9p is configured by QEMU's arguments, which only root@pam
	// with its password may set.
	// +kubebuilder:validation:Enum=virtiofs;9p
	Type string `json:"type"`

	// Source is the directory on the node: "/srv/data".
	Source string `json:"source"`

	// Tag is the name under which the guest mounts it. For virtiofs it is also the
	// name of the directory mapping in Proxmox, so that all machines of a cluster
	// that use a tag share the same directory.
	Tag string `json:"tag"`

	// ReadOnly keeps the guest from writing. Proxmox' own virtiofs can't do that, so the hook
	// is used.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`

	// Via is "native" or "hook", for virtiofs. Native, the default, is Proxmox' own virtiofs,
	// from 8.4 on: a directory mapping, which is created if there is none and removed when no
	// machine uses it. With hook, proxplane's hook on the node runs the daemon, and only
	// root@pam with its password may set it up.
	// +optional
	// +kubebuilder:validation:Enum=native;hook
	Via string `json:"via,omitempty"`

	// Cache is "auto", "always", "metadata" or "never", for virtiofs. Default: auto.
	// +optional
	// +kubebuilder:validation:Enum=auto;always;metadata;never
	Cache string `json:"cache,omitempty"`

	// DirectIO lets the guest bypass the node's cache, for virtiofs.
	// +optional
	DirectIO bool `json:"directIO,omitempty"`

	// XAttr shows extended attributes, for virtiofs.
	// +optional
	XAttr bool `json:"xattr,omitempty"`

	// ACL shows POSIX ACLs, and with them extended attributes, for virtiofs.
	// +optional
	ACL bool `json:"acl,omitempty"`

	// SecurityModel says how owners and modes of files are stored, for 9p: "mapped-xattr",
	// "mapped-file", "passthrough" or "none". Default: mapped-xattr.
	// +optional
	// +kubebuilder:validation:Enum=mapped-xattr;mapped-file;passthrough;none
	SecurityModel string `json:"securityModel,omitempty"`

	// Multidevs says how files on other devices below Source are treated, for 9p: "remap",
	// "forbid" or "warn". Default: warn.
	// +optional
	// +kubebuilder:validation:Enum=remap;forbid;warn
	Multidevs string `json:"multidevs,omitempty"`
}
