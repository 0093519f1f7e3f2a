package v1beta1

import "k8s.io/apimachinery/pkg/util/intstr"

// Firewall is the whole firewall of a machine in Proxmox. Rules and options that somebody has
// set by hand are changed back.
type Firewall struct {
	// Enabled turns the firewall of the machine on. Default: true. The interfaces of the
	// machine are then under the firewall unless their own firewall field says otherwise.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// PolicyIn applies to incoming packets that no rule matches: ACCEPT, DROP or REJECT.
	// Default: DROP.
	// +optional
	// +kubebuilder:validation:Enum=ACCEPT;DROP;REJECT
	PolicyIn string `json:"policyIn,omitempty"`

	// PolicyOut applies to outgoing packets that no rule matches. Default: ACCEPT.
	// +optional
	// +kubebuilder:validation:Enum=ACCEPT;DROP;REJECT
	PolicyOut string `json:"policyOut,omitempty"`

	// LogIn is the log level for incoming packets that the policy drops: emerg, alert, crit,
	// err, warning, notice, info, debug or nolog. Default: nolog.
	// +optional
	// +kubebuilder:validation:Enum=emerg;alert;crit;err;warning;notice;info;debug;nolog
	LogIn string `json:"logIn,omitempty"`

	// LogOut is the log level for outgoing packets that the policy drops.
	// +optional
	// +kubebuilder:validation:Enum=emerg;alert;crit;err;warning;notice;info;debug;nolog
	LogOut string `json:"logOut,omitempty"`

	// DHCP allows the packets of DHCP. Default: true.
	// +optional
	DHCP *bool `json:"dhcp,omitempty"`

	// NDP allows neighbour discovery of IPv6. Default: true.
	// +optional
	NDP *bool `json:"ndp,omitempty"`

	// RouterAdvertisements allows the machine to send router advertisements.
	// +optional
	RouterAdvertisements bool `json:"routerAdvertisements,omitempty"`

	// MACFilter drops packets from other MAC addresses than the interface's own. Default: true.
	// +optional
	MACFilter *bool `json:"macFilter,omitempty"`

	// IPFilter drops packets that the machine sends from addresses outside of the IP set of that
	// interface, ipfilter-net0 and so on. Create these sets in Proxmox; without a set, only the
	// link-local IPv6 address is allowed.
	// +optional
	IPFilter bool `json:"ipFilter,omitempty"`

	// Rules in their order: the first that matches decides.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Rules []FirewallRule `json:"rules,omitempty"`
}

// FirewallRule accepts or drops packets, or inserts the rules of a security group.
//
// +kubebuilder:validation:XValidation:rule="has(self.securityGroup) != (has(self.type) && has(self.action))",message="want type and action, or securityGroup instead of them"
// +kubebuilder:validation:XValidation:rule="!has(self.securityGroup) || !(has(self.type) || has(self.action) || has(self.macro) || has(self.protocol) || has(self.port) || has(self.source) || has(self.destination) || has(self.sourcePort) || has(self.icmpType) || has(self.log))",message="securityGroup has rules of its own: beside it there are network, enabled and comment"
// +kubebuilder:validation:XValidation:rule="!has(self.macro) || !(has(self.protocol) || has(self.port) || has(self.sourcePort) || has(self.icmpType))",message="macro stands for protocol and ports: leave one of them out"
// +kubebuilder:validation:XValidation:rule="has(self.protocol) || !(has(self.port) || has(self.sourcePort) || has(self.icmpType))",message="ports need protocol: tcp or udp, icmpType needs protocol: icmp or icmpv6"
type FirewallRule struct {
	// SecurityGroup inserts the rules of a security group of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	SecurityGroup string `json:"securityGroup,omitempty"`

	// Type is "in" for packets to the machine, "out" for those from it.
	// +optional
	// +kubebuilder:validation:Enum=in;out
	Type string `json:"type,omitempty"`

	// Action is ACCEPT, DROP or REJECT.
	// +optional
	// +kubebuilder:validation:Enum=ACCEPT;DROP;REJECT
	Action string `json:"action,omitempty"`

	// Network is the interface that the rule applies to, by the name of its network; or a slot
	// such as net0. Default: all interfaces.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Network string `json:"network,omitempty"`

	// Macro is the protocol and the ports of a service: SSH, HTTPS, Ping, …
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Macro string `json:"macro,omitempty"`

	// Protocol is "tcp", "udp", "icmp" or another one by its name or number.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Protocol string `json:"protocol,omitempty"`

	// Port or ports that packets go to: 22, "80,443", "8000:8010", "ssh".
	// +optional
	// +kubebuilder:validation:XIntOrString
	Port *intstr.IntOrString `json:"port,omitempty"`

	// SourcePort or ports that packets come from.
	// +optional
	// +kubebuilder:validation:XIntOrString
	SourcePort *intstr.IntOrString `json:"sourcePort,omitempty"`

	// Source are addresses that packets come from: "10.0.0.0/8,192.168.1.7", a range such
	// as "10.0.0.1-10.0.0.9", an alias "dc/office" or an IP set "+dc/blocked".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source,omitempty"`

	// Destination are the addresses that packets go to.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Destination string `json:"destination,omitempty"`

	// ICMPType is the kind of ICMP packet, such as "echo-request".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ICMPType string `json:"icmpType,omitempty"`

	// Log is the log level for packets that the rule matches.
	// +optional
	// +kubebuilder:validation:Enum=emerg;alert;crit;err;warning;notice;info;debug;nolog
	Log string `json:"log,omitempty"`

	// Enabled: a rule that isn't enabled exists in Proxmox and has no effect. Default:
	// true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Comment on the rule.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Comment string `json:"comment,omitempty"`
}
