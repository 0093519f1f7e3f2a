package v1beta1

// Network is a network interface of a machine.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.dhcp6) && self.dhcp6 && has(self.slaac) && self.slaac)",message="slaac is another way to get an address than dhcp6: choose one"
// +kubebuilder:validation:XValidation:rule="!has(self.mtu) || !has(self.model) || self.model == 'virtio'",message="mtu is for interfaces of the model virtio: leave one of them out"
type Network struct {
	// Name of the network. It selects the bridge, see Provider.networks, unless Bridge is
	// given.
	Name string `json:"name"`

	// Slot in Proxmox, such as net2. Default: by its place in the list.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^net([0-9]|[12][0-9]|3[01])$')",message="want a slot from net0 to net31"
	// +kubebuilder:validation:MaxLength=5
	Slot string `json:"slot,omitempty"`

	// Bridge or SDN VNet.
	// +optional
	Bridge string `json:"bridge,omitempty"`

	// VLAN tag.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN int `json:"vlan,omitempty"`

	// MAC address. Default: one that follows from the machine's and the network's name.
	// +optional
	// +kubebuilder:validation:MaxLength=17
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}$')",message="want a MAC address of one machine such as 02:00:00:aa:bb:cc"
	MAC string `json:"mac,omitempty"`

	// Model is "virtio", "e1000", "e1000e", "rtl8139", "vmxnet3", or one of the old
	// cards that Proxmox has. Default: virtio.
	// +optional
	// +kubebuilder:validation:Enum=virtio;e1000;e1000e;rtl8139;vmxnet3;e1000-82540em;e1000-82544gc;e1000-82545em;i82551;i82557b;i82559er;ne2k_isa;ne2k_pci;pcnet
	Model string `json:"model,omitempty"`

	// MTU of the interface. 1 is that of the bridge.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65520
	MTU int `json:"mtu,omitempty"`

	// Firewall turns the firewall of Proxmox on for this interface. Default: that of the
	// network in the Provider, else whether the machine has a firewall that is enabled.
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

	// LinkDown disconnects the interface.
	// +optional
	LinkDown bool `json:"linkDown,omitempty"`

	// StaticIP are fixed addresses. Without them the interface uses DHCP.
	// +optional
	StaticIP *StaticIP `json:"staticIP,omitempty"`

	// DHCP requests an IPv4 address. Default: true without StaticIP.
	// +optional
	DHCP *bool `json:"dhcp,omitempty"`

	// DHCP6 requests an IPv6 address by DHCPv6.
	// +optional
	DHCP6 bool `json:"dhcp6,omitempty"`

	// SLAAC configures an IPv6 address from router advertisements.
	// +optional
	SLAAC bool `json:"slaac,omitempty"`
}

// StaticIP are fixed addresses of an interface.
//
// +kubebuilder:validation:XValidation:rule="has(self.address) || has(self.fromPool) || has(self.addresses) && size(self.addresses) > 0",message="address is missing: give one with its prefix length, such as 192.168.1.100/24, or fromPool"
// +kubebuilder:validation:XValidation:rule="!has(self.fromPool) || !(has(self.address) || has(self.addresses) || has(self.gateway) || has(self.gateway6))",message="fromPool is instead of addresses and gateways, which come from the pool: leave one of them out"
type StaticIP struct {
	// FromPool gives the interface an address of the pool of a network, by the network's
	// name in Provider.networks. The machine keeps it until it is deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	FromPool string `json:"fromPool,omitempty"`

	// Address with its prefix length, IPv4 or IPv6: "192.168.1.100/24".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="want an address with its prefix length, such as 192.168.1.100/24"
	Address string `json:"address,omitempty"`

	// Addresses are further addresses, each with its prefix length.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self)",message="want an address with its prefix length, such as 192.168.1.100/24"
	Addresses []string `json:"addresses,omitempty"`

	// Gateway for IPv4. If Address is IPv6, it may be the one for IPv6.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="want an address such as 192.168.1.1, without a prefix length"
	Gateway string `json:"gateway,omitempty"`

	// Gateway6 is the gateway for IPv6.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 6",message="want an IPv6 address; gateway is for IPv4"
	Gateway6 string `json:"gateway6,omitempty"`

	// DNS are the addresses of name servers.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="want the address of a name server, such as 192.168.1.1"
	DNS []string `json:"dns,omitempty"`

	// Search are domains for names without a dot.
	// +optional
	Search []string `json:"search,omitempty"`
}
