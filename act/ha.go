package act

import (
	"context"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// setHA adds, changes or removes the HA resource of a guest. Where guests may run is said
// by groups until Proxmox 8, by rules from 9 on.
func (a *Actor) setHA(ctx context.Context, c *pve.Client, h model.SetHA) error {
	sid := fmt.Sprintf("vm:%d", h.VMID)
	if h.HA == nil {
		return c.HA().RemoveResource(ctx, sid, pve.HARemove{})
	}
	v, err := a.release(ctx)
	if err != nil {
		return err
	}
	settings := pve.HASettings{MaxRestart: number(h.HA.MaxRestart), MaxRelocate: number(h.HA.MaxRelocate)}
	switch {
	case h.Disable:
		settings.State = "disabled"
	case h.Off:
		settings.State = "stopped"
	}
	rules := v.AtLeast(9, 0)
	if !rules {
		settings.Group = h.HA.Group
	}
	if h.New {
		err = c.HA().AddResource(ctx, sid, settings)
	} else {
		err = c.HA().SetResource(ctx, sid, pve.HAChange{HASettings: settings})
	}
	if err != nil || !rules || h.HA.Group == "" {
		return err
	}
	return joinRule(ctx, c, h.HA.Group, sid)
}

// joinRule adds a guest to a node affinity rule, which stands for a group. It removes the guest from its
// former rule: Proxmox allows only one.
func joinRule(ctx context.Context, c *pve.Client, name, sid string) error {
	rules, err := c.HA().Rules(ctx)
	if err != nil {
		return fmt.Errorf("list HA rules: %w", err)
	}
	i := slices.IndexFunc(rules, func(r pve.HARule) bool { return r.ID == name })
	if i < 0 {
		return fmt.Errorf("there is no HA rule %q, which stands for the group: %w", name, pve.ErrNotFound)
	}
	rule := rules[i]
	if slices.Contains(rule.Resources, sid) {
		return nil
	}
	const aboutNodes = "node-affinity"
	for _, other := range rules {
		if rule.Type != aboutNodes || other.Type != aboutNodes || !slices.Contains(other.Resources, sid) {
			continue
		}
		rest := slices.DeleteFunc(other.Resources, func(r string) bool { return r == sid })
		if len(rest) == 0 {
			return fmt.Errorf("HA rule %q is about this machine alone, and Proxmox has no rule about none: delete the rule, or have it be about another one, too: %w", other.ID, pve.ErrInvalid)
		}
		if err := changeRule(ctx, c, other, rest); err != nil {
			return fmt.Errorf("take it out of HA rule %q: %w", other.ID, err)
		}
		return joinRule(ctx, c, name, sid) // the rules aren't as they were
	}
	if err := changeRule(ctx, c, rule, append(rule.Resources, sid)); err != nil {
		return fmt.Errorf("add it to HA rule %q: %w", name, err)
	}
	return nil
}

// changeRule replaces the guests of a rule, if no rule has changed since the rules were read.
func changeRule(ctx context.Context, c *pve.Client, rule pve.HARule, resources []string) error {
	return c.HA().SetRule(ctx, rule.ID, pve.HARuleChange{HARule: pve.HARule{Type: rule.Type, Resources: resources}, Digest: rule.Digest})
}

// keepApart writes the rule that keeps guests on different nodes.
func keepApart(ctx context.Context, c *pve.Client, k model.KeepApart) error {
	rule := pve.HARule{ID: k.Rule, Type: "resource-affinity", Affinity: "negative", Resources: k.Resources}
	if k.New {
		return c.HA().CreateRule(ctx, rule)
	}
	return c.HA().SetRule(ctx, k.Rule, pve.HARuleChange{HARule: pve.HARule{Type: rule.Type, Resources: rule.Resources}})
}

// release returns the version of Proxmox, which is requested until it is known.
func (a *Actor) release(ctx context.Context) (pve.Version, error) {
	a.mu.Lock()
	v := a.version
	a.mu.Unlock()
	if v != (pve.Version{}) {
		return v, nil
	}
	v, err := a.client.Version(ctx)
	if err != nil {
		return v, fmt.Errorf("ask for the version: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version = v
	return v, nil
}

// number returns a number as a parameter; one that isn't set is left to Proxmox.
func number(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// setPool moves a guest between pools.
func setPool(ctx context.Context, c *pve.Client, p model.SetPool) error {
	if p.Pool == "" {
		return c.Pool(p.From).Change(ctx, pve.PoolChange{VMs: []int{p.VMID}, Delete: true})
	}
	return c.Pool(p.Pool).Change(ctx, pve.PoolChange{VMs: []int{p.VMID}, Move: p.From != ""})
}
