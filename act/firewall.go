package act

import (
	"context"
	"fmt"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// setFirewall changes the options and rules of a guest's firewall, by one call for all options and
// one for each rule. Options that let more through than the rules come first, those that let less
// through last: rules are there before the firewall is turned on.
func setFirewall(ctx context.Context, vm pve.VM, f model.SetFirewall) error {
	if f.OptionsFirst {
		if err := setFirewallOptions(ctx, vm, f); err != nil {
			return err
		}
	}
	digest := f.RulesDigest
	for _, e := range f.Edits {
		if err := editRule(ctx, vm, e, digest); err != nil {
			return fmt.Errorf("%s the rule %q: %w", e.Verb, e.Rule, err)
		}
		digest = "" // the rules are others by now
	}
	if f.OptionsFirst {
		return nil
	}
	return setFirewallOptions(ctx, vm, f)
}

func setFirewallOptions(ctx context.Context, vm pve.VM, f model.SetFirewall) error {
	if len(f.Set)+len(f.Unset) == 0 {
		return nil
	}
	return vm.SetFirewallOptions(ctx, pve.FirewallChange{Set: f.Set, Delete: f.Unset, Digest: f.OptionsDigest})
}

// editRule makes one change of the list of rules, if the list is unchanged since it was read. Proxmox doesn't
// check that for new rules.
func editRule(ctx context.Context, vm pve.VM, e model.RuleEdit, digest string) error {
	switch e.Verb {
	case model.RuleInsert:
		return vm.AddFirewallRule(ctx, ruleSettings(e.Rule))
	case model.RuleMove:
		before := e.To
		if e.To > e.At {
			before++ // it is counted with the rule where it was
		}
		return vm.MoveFirewallRule(ctx, e.At, before, digest)
	case model.RuleEnable:
		return vm.SetFirewallRule(ctx, e.At, pve.FirewallChange{Set: pve.Settings{"enable": "1"}, Digest: digest})
	case model.RuleSet:
		return vm.SetFirewallRule(ctx, e.At, pve.FirewallChange{Set: ruleSettings(e.Rule), Delete: e.Drop, Digest: digest})
	case model.RuleRemove:
		return vm.DeleteFirewallRule(ctx, e.At, digest)
	}
	return fmt.Errorf("there is no call for %q", e.Verb)
}

// ruleSettings returns a rule as Proxmox takes it.
func ruleSettings(r model.FirewallRule) pve.Settings {
	s := pve.Settings(r.Settings())
	if s["enable"] = "1"; r.Disabled {
		s["enable"] = "0"
	}
	return s
}
