package pve

import (
	"context"
	"net/http"
)

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

// NewFirewallGroup describes a group to make, or to change when Rename is its present name.
type NewFirewallGroup struct {
	Name    string `pve:"group"`
	Comment string `pve:"comment"`
	Rename  string `pve:"rename"`
	Digest  string `pve:"digest"`
}

// CreateGroup makes a security group, or changes its name or comment.
func (f Firewall) CreateGroup(ctx context.Context, group NewFirewallGroup) error {
	return tell(ctx, f.c, http.MethodPost, group, "/cluster/firewall/groups")
}

// DeleteGroup removes a security group, which must be empty.
func (f Firewall) DeleteGroup(ctx context.Context, group string) error {
	return tell(ctx, f.c, http.MethodDelete, nil, "/cluster/firewall/groups/{group}", group)
}

// FirewallRule is a rule of a security group or of a VM.
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

// Rules lists the rules of a group, first the one that is tried first.
func (f Firewall) Rules(ctx context.Context, group string) ([]FirewallRule, error) {
	return get[[]FirewallRule](ctx, f.c, nil, "/cluster/firewall/groups/{group}", group)
}

type newFirewallRule struct {
	FirewallRule
	Position *int   `pve:"pos"`
	Digest   string `pve:"digest"`
}

// AddRule puts a rule at its position.
func (f Firewall) AddRule(ctx context.Context, group string, rule FirewallRule) error {
	return tell(ctx, f.c, http.MethodPost, newFirewallRule{FirewallRule: rule, Position: &rule.Position},
		"/cluster/firewall/groups/{group}", group)
}

type deleteRuleParams struct {
	Digest string `pve:"digest"`
}

// DeleteRule removes the rule at a position. Positions shift with every change, so pass the
// digest of the group that they were read with, where there is one.
func (f Firewall) DeleteRule(ctx context.Context, group string, position int, digest string) error {
	return tell(ctx, f.c, http.MethodDelete, deleteRuleParams{digest},
		"/cluster/firewall/groups/{group}/{pos}", group, position)
}
