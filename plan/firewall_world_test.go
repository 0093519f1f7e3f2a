package plan

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// firewallIn is the firewall of a guest as it is read.
func firewallIn(g *model.Guest) *model.SeenFirewall {
	if g.Firewall == nil {
		return &model.SeenFirewall{OptionsDigest: "o0", RulesDigest: "r0"}
	}
	seen := *g.Firewall
	seen.Rules = slices.Clone(seen.Rules)
	return &seen
}

func clusterFirewall() *model.ClusterFirewall {
	return &model.ClusterFirewall{
		Groups: map[string]bool{"web": true, "mail": true}, Macros: map[string]bool{"ssh": true, "http": true, "https": true},
		Refs: map[string]bool{"office": true, "+blocked": true},
	}
}

// walls is a firewall that is on, with rules such as "in ACCEPT SSH" and "group web".
func walls(rules ...string) *model.Firewall {
	f := &model.Firewall{Options: map[string]string{"enable": "1"}}
	for _, text := range rules {
		part := append(strings.Fields(text), "", "")
		f.Rules = append(f.Rules, model.FirewallRule{Type: part[0], Action: part[1], Macro: part[2]})
	}
	return f
}

// setFirewall does what act does, as Proxmox would.
func (w *world) setFirewall(a model.SetFirewall) {
	g := w.guests[a.VMID]
	now := firewallIn(g).Firewall
	options := map[string]string{}
	for k, v := range now.Options {
		options[k] = v
	}
	for k, v := range a.Set {
		options[k] = v
	}
	for _, k := range a.Unset {
		delete(options, k)
	}
	now.Options = model.FirewallOptions(options)
	for _, e := range a.Edits {
		now.Rules = edited(now.Rules, e)
	}
	g.Firewall = &model.SeenFirewall{Firewall: now, OptionsDigest: w.nextDigest(), RulesDigest: w.nextDigest()}
}

// edited is a list of rules after an edit.
func edited(rules []model.FirewallRule, e model.RuleEdit) []model.FirewallRule {
	rules = slices.Clone(rules)
	switch e.Verb {
	case model.RuleInsert:
		return slices.Insert(rules, 0, e.Rule)
	case model.RuleMove:
		moved := rules[e.At]
		return slices.Insert(slices.Delete(rules, e.At, e.At+1), e.To, moved)
	case model.RuleEnable:
		rules[e.At].Disabled = false
	case model.RuleSet:
		rules[e.At] = e.Rule
	case model.RuleRemove:
		return slices.Delete(rules, e.At, e.At+1)
	}
	return rules
}
