package stage

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
)

func (w *World) setHA(a model.SetHA) {
	g, id := w.Guests[a.VMID], fmt.Sprintf("vm:%d", a.VMID)
	if a.Disable {
		g.HAState = "disabled"
		return
	}
	for name := range w.Rules {
		if a.HA == nil || a.HA.Group != "" && !strings.HasPrefix(name, "proxplane-") {
			w.Rules[name] = slices.DeleteFunc(slices.Clone(w.Rules[name]), func(r string) bool { return r == id })
		}
	}
	delete(w.HA, id)
	if a.HA == nil {
		g.HAState = ""
		return
	}
	w.HA[id] = map[string]string{"max_restart": strconv.Itoa(max(1, a.HA.MaxRestart)), "max_relocate": strconv.Itoa(max(1, a.HA.MaxRelocate))}
	if a.HA.Group != "" {
		w.Rules[a.HA.Group] = append(w.Rules[a.HA.Group], id)
	}
	switch {
	case !a.New:
	case a.Off:
		g.HAState = "stopped"
	default:
		g.HAState = "started"
		w.Start(g)
	}
}

// firewallOf returns the firewall of a guest as it is read.
func firewallOf(g *model.Guest) *model.SeenFirewall {
	if g.Firewall == nil {
		return &model.SeenFirewall{OptionsDigest: "o0", RulesDigest: "r0"}
	}
	seen := *g.Firewall
	seen.Rules = slices.Clone(seen.Rules)
	return &seen
}

// setFirewall does what act does, as Proxmox would.
func (w *World) setFirewall(a model.SetFirewall) {
	g := w.Guests[a.VMID]
	now := firewallOf(g).Firewall
	options := maps.Clone(now.Options)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, a.Set)
	for _, k := range a.Unset {
		delete(options, k)
	}
	now.Options = model.FirewallOptions(options)
	for _, e := range a.Edits {
		now.Rules = Edited(now.Rules, e)
	}
	g.Firewall = &model.SeenFirewall{Firewall: now, OptionsDigest: w.NextDigest(), RulesDigest: w.NextDigest()}
}

// Edited returns a list of rules after an edit.
func Edited(rules []model.FirewallRule, e model.RuleEdit) []model.FirewallRule {
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
