package v1beta1

// AddressPool is a pool of addresses for machines. There is no list of leases: an address
// is taken if a VM in Proxmox has it.
type AddressPool struct {
	// Ranges are the addresses for machines, IPv4 or IPv6: "192.168.1.100-192.168.1.199",
	// or one address. A machine gets one of each family that the pool has.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=96
	Ranges []string `json:"ranges"`

	// Exclude are addresses of the ranges that machines don't get, written as Ranges are.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=96
	Exclude []string `json:"exclude,omitempty"`

	// Prefix is the IPv4 network that the ranges are in: "192.168.1.0/24".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Prefix string `json:"prefix,omitempty"`

	// Prefix6 is the IPv6 network that the ranges are in: "fd00:1::/64".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Prefix6 string `json:"prefix6,omitempty"`

	// Gateway for IPv4.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Gateway string `json:"gateway,omitempty"`

	// Gateway6 is the gateway for IPv6.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Gateway6 string `json:"gateway6,omitempty"`

	// DNS are the addresses of name servers, for machines that name none.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	DNS []string `json:"dns,omitempty"`

	// Search are domains for names without a dot, for machines that name none.
	// +optional
	Search []string `json:"search,omitempty"`
}
