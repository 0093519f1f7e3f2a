package observe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// The firewall of a guest is in a file of its own, of which no list and no config shows
// anything. It is read for guests of which a plan asks for it, by two requests, and again
// whenever their configs are verified.

// Firewall reads the firewall of a guest.
func (o *Observer) Firewall(ctx context.Context, vmid int) error {
	return o.read(ctx, vmid, "the firewall", func(vm pve.VM) error {
		at := time.Now()
		options, err := vm.FirewallOptions(ctx)
		if err != nil {
			return err
		}
		rules, err := vm.FirewallRules(ctx)
		if err != nil {
			return err
		}
		o.change(vmid, func(r *record) {
			if !r.firewallDoubt.After(at) { // else what we got may be older than the change
				r.firewall, r.firewallAt = firewallOf(options, rules), at
			}
		})
		return nil
	})
}

// firewallOf returns a firewall as it is compared.
func firewallOf(options pve.Settings, rules []pve.FirewallRule) *model.SeenFirewall {
	seen := &model.SeenFirewall{OptionsDigest: options["digest"]}
	delete(options, "digest")
	seen.Options = model.FirewallOptions(options)
	for _, r := range rules {
		seen.RulesDigest = r.Digest
		rule := model.FirewallRule{
			Type: r.Type, Action: r.Action, Disabled: !r.Enabled, Macro: r.Macro, Protocol: r.Protocol, Source: r.Source, Dest: r.Dest,
			SPort: r.SPort, DPort: r.DPort, ICMPType: r.ICMPType, Interface: r.Interface, Log: r.Log, Comment: r.Comment,
		}
		if rule.Log == "nolog" {
			rule.Log = ""
		}
		seen.Rules = append(seen.Rules, rule)
	}
	return seen
}

// FirewallSet records the firewall that a guest was given.
func (o *Observer) FirewallSet(vmid int, now model.Firewall) {
	o.change(vmid, func(r *record) {
		r.firewall, r.firewallAt, r.firewallDoubt = &model.SeenFirewall{Firewall: now}, time.Now(), time.Now()
	})
}

// forgetFirewall drops what was read, and what is being read right now.
func (r *record) forgetFirewall() { r.firewall, r.firewallDoubt = nil, time.Now() }

// FirewallOutdated reports whether a guest's firewall was last read before a time. It is false for
// a node that is offline.
func (o *Observer) FirewallOutdated(vmid int, since time.Time) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	r := o.records[vmid]
	if r == nil || o.have.Nodes[r.listed.Node] == nil || !o.have.Nodes[r.listed.Node].Online {
		return false
	}
	return r.firewall != nil && r.firewallAt.Before(since)
}

// ClusterFirewall reads what rules of guests may refer to, as far as it is visible to these
// credentials.
func (o *Observer) ClusterFirewall(ctx context.Context) error {
	fw, seen := o.client.Firewall(), &model.ClusterFirewall{}
	groups, err := fw.Groups(ctx)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("list security groups: %w", err)
	}
	seen.Groups = namesOf(groups, err, func(g pve.FirewallGroup) string { return strings.ToLower(g.Name) })
	macros, err := fw.Macros(ctx)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("list the macros of the firewall: %w", err)
	}
	seen.Macros = namesOf(macros, err, func(m pve.FirewallMacro) string { return strings.ToLower(m.Name) })
	refs, err := fw.Refs(ctx)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("list aliases and IP sets: %w", err)
	}
	seen.Refs = namesOf(refs, err, refName)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Firewall = seen
	return nil
}

// FirewallOff reads whether the firewall of the cluster is off, if these credentials may read that.
func (o *Observer) FirewallOff(ctx context.Context) error {
	options, err := o.client.Firewall().Options(ctx)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("read the options of the cluster's firewall: %w", err)
	}
	off := err == nil && (options["enable"] == "" || options["enable"] == "0")
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.FirewallOff = &off
	return nil
}

// refName returns how a rule names an alias or a set.
func refName(r pve.FirewallRef) string {
	name := strings.ToLower(r.Name)
	if r.Type == "ipset" {
		return "+" + name
	}
	return name
}
