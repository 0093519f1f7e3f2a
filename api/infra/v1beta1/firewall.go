package v1beta1

import "k8s.io/apimachinery/pkg/util/intstr"

// Firewall is what the firewall of Proxmox lets through to and from a machine: all of it. Rules
// and options that somebody has set by hand are taken back.
type Firewall struct {
	// Enabled puts the rules into force. Default: true. The interfaces of the machine are
	// then under the firewall unless their own firewall field says otherwise.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// PolicyIn is what becomes of incoming packets that no rule is about: ACCEPT, DROP or
	// REJECT. Default: DROP.
	// +optional
	// +kubebuilder:validation:Enum=ACCEPT;DROP;REJECT
	PolicyIn string `json:"policyIn,omitempty"`

	// PolicyOut is the same of outgoing packets. Default: ACCEPT.
	// +optional
	// +kubebuilder:validation:Enum=ACCEPT;DROP;REJECT
	PolicyOut string `json:"policyOut,omitempty"`

	// LogIn is the level at which incoming packets are logged that the policy stops: emerg,
	// alert, crit, err, warning, notice, info, debug or nolog. Default: nolog.
	// +optional
	// +kubebuilder:validation:Enum=emerg;alert;crit;err;warning;notice;info;debug;nolog
	LogIn string `json:"logIn,omitempty"`

	// LogOut is the same of outgoing packets.
	// +optional
	// +kubebuilder:validation:Enum=emerg;alert;crit;err;warning;notice;info;debug;nolog
	LogOut string `json:"logOut,omitempty"`

	// DHCP lets the machine ask for an address. Default: true.
	// +optional
	DHCP *bool `json:"dhcp,omitempty"`

	// NDP lets neighbour discovery of IPv6 through. Default: true.
	// +optional
	NDP *bool `json:"ndp,omitempty"`

	// RouterAdvertisements lets the machine send them, as routers do.
	// +optional
	RouterAdvertisements bool `json:"routerAdvertisements,omitempty"`

	// MACFilter stops packets from other MAC addresses than the interface's own. Default: true.
	// +optional
	MACFilter *bool `json:"macFilter,omitempty"`

	// IPFilter stops packets that the machine sends from other addresses than those in its own IP
	// set of that interface, ipfilter-net0 and so on. You make these sets in Proxmox; without one,
	// only the link-local address of IPv6 gets through.
	// +optional
	IPFilter bool `json:"ipFilter,omitempty"`

	// Rules in the order in which they are tried: the first that matches decides.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Rules []FirewallRule `json:"rules,omitempty"`
}

// FirewallRule lets packets through or stops them, or stands for the rules of a security group.
//
// +kubebuilder:validation:XValidation:rule="has(self.securityGroup) != (has(self.type) && has(self.action))",message="want type and action, or securityGroup instead of them"
// +kubebuilder:validation:XValidation:rule="!has(self.securityGroup) || !(has(self.type) || has(self.action) || has(self.macro) || has(self.protocol) || has(self.port) || has(self.source) || has(self.destination) || has(self.sourcePort) || has(self.icmpType) || has(self.log))",message="securityGroup has rules of its own: beside it there are network, enabled and comment"
// +kubebuilder:validation:XValidation:rule="!has(self.macro) || !(has(self.protocol) || has(self.port) || has(self.sourcePort) || has(self.icmpType))",message="macro stands for protocol and ports: leave one of them out"
// +kubebuilder:validation:XValidation:rule="has(self.protocol) || !(has(self.port) || has(self.sourcePort) || has(self.icmpType))",message="ports need protocol: tcp or udp, icmpType needs protocol: icmp or icmpv6"
type FirewallRule struct {
	// SecurityGroup is a group of rules that the cluster has, which come here.
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

	// Network is the interface that the rule is about, by the name of its network; or a slot
	// such as net0. Default: all of them.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Network string `json:"network,omitempty"`

	// Macro stands for the protocol and the ports of a service: SSH, HTTPS, Ping, …
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

	// Log is the level at which packets are logged that the rule is about.
	// +optional
	// +kubebuilder:validation:Enum=emerg;alert;crit;err;warning;notice;info;debug;nolog
	Log string `json:"log,omitempty"`

	// Enabled is false for a rule that is there and has no effect. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Comment on the rule.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Comment string `json:"comment,omitempty"`
}
