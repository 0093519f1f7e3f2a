package pve

import "context"

// Firewall is a handle for the cluster's firewall.
type Firewall struct{ c *Client }

// Firewall gives a handle for the cluster's firewall.
func (c *Client) Firewall() Firewall { return Firewall{c} }

// FirewallGroup is a named set of rules.
type FirewallGroup struct {
	Name    string `json:"group"`
	Comment string `json:"comment"`
	Digest  string `json:"digest"`
}

// Groups lists the security groups.
func (f Firewall) Groups(ctx context.Context) ([]FirewallGroup, error) {
	return get[[]FirewallGroup](ctx, f.c, nil, "/cluster/firewall/groups")
}

// FirewallRule is a rule of a VM's firewall.
type FirewallRule struct {
	Position  int    `json:"pos" pve:"-"`
	Type      string `json:"type" pve:"type"`     // in, out, forward or group
	Action    string `json:"action" pve:"action"` // ACCEPT, DROP, REJECT or a group
	Enabled   bool   `json:"enable" pve:"enable"`
	Macro     string `json:"macro" pve:"macro"`
	Protocol  string `json:"proto" pve:"proto"`
	Source    string `json:"source" pve:"source"`
	Dest      string `json:"dest" pve:"dest"`
	SPort     string `json:"sport" pve:"sport"`
	DPort     string `json:"dport" pve:"dport"`
	ICMPType  string `json:"icmp-type" pve:"icmp-type"`
	Interface string `json:"iface" pve:"iface"`
	Log       string `json:"log" pve:"log"`
	Comment   string `json:"comment" pve:"comment"`
	Digest    string `json:"digest" pve:"-"` // of all rules of the list
}

type deleteRuleParams struct {
	Digest string `pve:"digest"`
}
