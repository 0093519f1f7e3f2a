package pve

import (
	"context"
	"net/http"
)

// FirewallOptions reads the options of the VM's firewall, with their digest under "digest".
// Those that were never set are missing.
func (v VM) FirewallOptions(ctx context.Context) (Settings, error) {
	return get[Settings](ctx, v.c, nil, "/nodes/{node}/qemu/{vmid}/firewall/options", v.Node, v.ID)
}

// FirewallChange changes options of a firewall, or settings of one of its rules.
type FirewallChange struct {
	Set    Settings
	Delete []string `pve:"delete"`
	Digest string   `pve:"digest"`
}

// SetFirewallOptions changes the options of the VM's firewall.
func (v VM) SetFirewallOptions(ctx context.Context, change FirewallChange) error {
	return tell(ctx, v.c, http.MethodPut, change, "/nodes/{node}/qemu/{vmid}/firewall/options", v.Node, v.ID)
}

// FirewallRules lists the rules of the VM's firewall, first the one that is tried first.
func (v VM) FirewallRules(ctx context.Context) ([]FirewallRule, error) {
	return get[[]FirewallRule](ctx, v.c, nil, "/nodes/{node}/qemu/{vmid}/firewall/rules", v.Node, v.ID)
}

type addRuleParams struct{ Settings Settings }

// AddFirewallRule puts a rule in front of the others, wherever it is to go: see
// [VM.MoveFirewallRule].
func (v VM) AddFirewallRule(ctx context.Context, rule Settings) error {
	return tell(ctx, v.c, http.MethodPost, addRuleParams{rule}, "/nodes/{node}/qemu/{vmid}/firewall/rules", v.Node, v.ID)
}

// SetFirewallRule changes settings of the rule at a position.
func (v VM) SetFirewallRule(ctx context.Context, position int, change FirewallChange) error {
	return tell(ctx, v.c, http.MethodPut, change, "/nodes/{node}/qemu/{vmid}/firewall/rules/{pos}", v.Node, v.ID, position)
}

type moveRuleParams struct {
	MoveTo *int   `pve:"moveto"`
	Digest string `pve:"digest"`
}

// MoveFirewallRule puts the rule at a position in front of the one that is at another; behind
// the last if there is none.
func (v VM) MoveFirewallRule(ctx context.Context, position, before int, digest string) error {
	return tell(ctx, v.c, http.MethodPut, moveRuleParams{&before, digest}, "/nodes/{node}/qemu/{vmid}/firewall/rules/{pos}", v.Node, v.ID, position)
}

// DeleteFirewallRule removes the rule at a position. Positions shift with every change, so pass
// the digest that they were read with, where there is one.
func (v VM) DeleteFirewallRule(ctx context.Context, position int, digest string) error {
	return tell(ctx, v.c, http.MethodDelete, deleteRuleParams{digest}, "/nodes/{node}/qemu/{vmid}/firewall/rules/{pos}", v.Node, v.ID, position)
}

// Options reads the options of the cluster's firewall.
func (f Firewall) Options(ctx context.Context) (Settings, error) {
	return get[Settings](ctx, f.c, nil, "/cluster/firewall/options")
}

// FirewallMacro is a set of rules that Proxmox has a name for.
type FirewallMacro struct {
	Name        string `json:"macro"`
	Description string `json:"descr"`
}

// Macros lists the macros that rules may use.
func (f Firewall) Macros(ctx context.Context) ([]FirewallMacro, error) {
	return get[[]FirewallMacro](ctx, f.c, nil, "/cluster/firewall/macros")
}

// FirewallRef is an alias or IP set of the cluster.
type FirewallRef struct {
	Type  string `json:"type"` // alias or ipset
	Name  string `json:"name"`
	Scope string `json:"scope"` // "dc"; SDN has its own
}

// Refs lists the aliases and IP sets that rules may name.
func (f Firewall) Refs(ctx context.Context) ([]FirewallRef, error) {
	return get[[]FirewallRef](ctx, f.c, nil, "/cluster/firewall/refs")
}
