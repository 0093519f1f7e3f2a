package v1beta1

// Network is a network interface of a machine.
type Network struct {
	// Name of the network. It says which bridge is meant, see Provider.networks,
	// unless Bridge does.
	Name string `json:"name"`

	// Bridge or SDN VNet.
	// +optional
	Bridge string `json:"bridge,omitempty"`

	// VLAN tag.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN int `json:"vlan,omitempty"`

	// MAC address. Default: one that is made from the machine's and the network's
	// name, the same each time.
	// +optional
	MAC string `json:"mac,omitempty"`

	// Model is "virtio", "e1000", "e1000e", "rtl8139" or "vmxnet3". Default:
	// virtio.
	// +optional
	Model string `json:"model,omitempty"`

	// MTU of the interface. 1 means: that of the bridge.
	// +optional
	MTU int `json:"mtu,omitempty"`

	// Firewall turns the firewall of Proxmox on for this interface.
	// +optional
	Firewall *bool `json:"firewall,omitempty"`

	// Rate is the limit in megabytes a second: "12.5".
	// +optional
	Rate string `json:"rate,omitempty"`

	// Queues for packets, for machines with many CPUs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Queues int `json:"queues,omitempty"`

	// LinkDown pulls the cable out.
	// +optional
	LinkDown bool `json:"linkDown,omitempty"`

	// StaticIP are fixed addresses. Without them the interface asks for one by
	// DHCP.
	// +optional
	StaticIP *StaticIP `json:"staticIP,omitempty"`

	// DHCP asks for an IPv4 address. Default: true without StaticIP.
	// +optional
	DHCP *bool `json:"dhcp,omitempty"`

	// DHCP6 asks for an IPv6 address.
	// +optional
	DHCP6 bool `json:"dhcp6,omitempty"`

	// SLAAC takes an IPv6 address that the router announces.
	// +optional
	SLAAC bool `json:"slaac,omitempty"`
}

// StaticIP are fixed addresses of an interface.
type StaticIP struct {
	// Address with its prefix length, IPv4 or IPv6: "192.168.1.100/24".
	// +optional
	Address string `json:"address,omitempty"`

	// Addresses are further ones.
	// +optional
	Addresses []string `json:"addresses,omitempty"`

	// Gateway for IPv4. If Address is IPv6, it may be the one for IPv6.
	// +optional
	Gateway string `json:"gateway,omitempty"`

	// Gateway6 is the gateway for IPv6.
	// +optional
	Gateway6 string `json:"gateway6,omitempty"`

	// DNS are the addresses of name servers.
	// +optional
	DNS []string `json:"dns,omitempty"`

	// Search are domains for names without a dot.
	// +optional
	Search []string `json:"search,omitempty"`
}
