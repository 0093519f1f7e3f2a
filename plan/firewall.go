package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// firewallMark is the mark of guests whose firewall a manifest describes.
const firewallMark = "firewall:"

// wantedFirewall returns what the firewall of a guest is to be; nil: whatever it is. One that no
// manifest describes any more goes.
func (c *change) wantedFirewall() *model.Firewall {
	if c.v.Firewall == nil && c.managed(firewallMark) {
		return &model.Firewall{}
	}
	return c.v.Firewall
}

// lookFirewall asks for the firewall of a guest, where that matters.
func (c *change) lookFirewall() {
	if c.wantedFirewall() != nil && c.g.Firewall == nil {
		c.o.Look.Firewalls = append(c.o.Look.Firewalls, c.g.VMID)
	}
	c.p.lookFirewall(c.o, c.v.Firewall)
}

// lookFirewall asks whether the firewall of the cluster is off, if a guest is to have one that is on.
func (p *planner) lookFirewall(o *Object, want *model.Firewall) {
	o.Look.FirewallOff = o.Look.FirewallOff || want.On() && p.have.FirewallOff == nil
}

// firewall plans the change of a guest's firewall. It comes before all that lets the guest be
// reached: the mark that it is up to date, and its start.
func (c *change) firewall() int {
	want, have := c.wantedFirewall(), c.g.Firewall
	c.p.noteFirewall(c.o, c.v.Firewall, c.nicsThen())
	if want == nil || want.Equal(&have.Firewall) {
		return 0
	}
	act := model.SetFirewall{
		Target: c.target(), To: *want, Edits: ruleEdits(have.Rules, want.Rules, c.running() && have.On()),
		OptionsFirst: !want.On(), OptionsDigest: have.OptionsDigest, RulesDigest: have.RulesDigest,
	}
	act.Set, act.Unset = optionEdits(have.Options, want.Options)
	return c.o.step(Step{
		Action: act, What: fmt.Sprintf("set the firewall of VM %d", c.g.VMID), Diff: firewallDiff(have.Firewall, *want), Effect: Live,
	})
}

// nicsThen returns the interfaces of the guest: those that are wanted, else those that it has.
func (c *change) nicsThen() []model.NIC {
	if len(c.v.NICs) > 0 {
		return c.v.NICs
	}
	return c.have.NICs
}

// firstFirewall foresees how a guest gets its firewall that is to be made.
func (p *planner) firstFirewall(v model.VM, to model.Target) Step {
	set, _ := optionEdits(nil, v.Firewall.Options)
	return Step{
		Action: model.SetFirewall{Target: to, To: *v.Firewall, Set: set, Edits: ruleEdits(nil, v.Firewall.Rules, false)},
		What:   "set its firewall", Why: rulesOf(v.Firewall), Effect: New,
	}
}

// rulesOf says in a few words what a firewall is.
func rulesOf(f *model.Firewall) string {
	if !f.On() {
		return "off"
	}
	return fmt.Sprintf("%s, else %s in and %s out", plural(len(f.Rules), "rule"), model.FirewallOption(f.Options, "policy_in"), model.FirewallOption(f.Options, "policy_out"))
}

// optionEdits returns what makes options what they are to be.
func optionEdits(have, want map[string]string) (set map[string]string, unset []string) {
	set = map[string]string{}
	for k, v := range want {
		if have[k] != v {
			set[k] = v
		}
	}
	for _, k := range slices.Sorted(keysOf(have)) {
		if _, stays := want[k]; !stays {
			unset = append(unset, k)
		}
	}
	return set, unset
}

// firewallDiff says what changes about a firewall.
func firewallDiff(have, want model.Firewall) (list []model.Difference) {
	keys := map[string]bool{}
	for _, options := range []map[string]string{have.Options, want.Options} {
		for k := range options {
			keys[k] = true
		}
	}
	for _, k := range slices.Sorted(keysOf(keys)) {
		if have.Options[k] != want.Options[k] {
			list = append(list, partOf(model.FieldFirewall, k, model.FirewallOption(have.Options, k), model.FirewallOption(want.Options, k)))
		}
	}
	gone, come := withoutRules(have.Rules, want.Rules), withoutRules(want.Rules, have.Rules)
	for _, r := range gone {
		list = append(list, model.Difference{Verb: model.VerbRemove, Field: model.FieldRule, From: r.String()})
	}
	for _, r := range come {
		list = append(list, model.Difference{Verb: model.VerbAdd, Field: model.FieldRule, To: r.String()})
	}
	if len(list) == 0 {
		list = append(list, model.Difference{Verb: model.VerbSet, Field: model.FieldRules})
	}
	for i := range list {
		list[i].Effect = Live
	}
	return list
}

// withoutRules returns those of some rules that others don't have, as often as they have them.
func withoutRules(rules, others []model.FirewallRule) (rest []model.FirewallRule) {
	others = slices.Clone(others)
	for _, r := range rules {
		if i := slices.IndexFunc(others, r.Equal); i >= 0 {
			others = slices.Delete(others, i, i+1)
			continue
		}
		rest = append(rest, r)
	}
	return rest
}

// ruleEdits make a list of rules another. What both begin and end with stays. Where the rules are
// in force, each packet meets at any time what the old list or what the new one says: the new rules
// come disabled, are enabled from the first on, and then the old ones go from the last on.
func ruleEdits(have, want []model.FirewallRule, inForce bool) (edits []model.RuleEdit) {
	head := 0
	for head < min(len(have), len(want)) && have[head].Equal(want[head]) {
		head++
	}
	tail := 0
	for tail < min(len(have), len(want))-head && have[len(have)-1-tail].Equal(want[len(want)-1-tail]) {
		tail++
	}
	old, come := have[head:len(have)-tail], want[head:len(want)-tail]
	if len(old) == 1 && len(come) == 1 {
		return []model.RuleEdit{{Verb: model.RuleSet, At: head, Rule: come[0], Drop: settingsGone(old[0], come[0])}}
	}
	inForce = inForce && (len(come) > 1 || head > 0)
	for _, r := range slices.Backward(come) {
		hidden := inForce && !r.Disabled
		edits = append(edits, model.RuleEdit{Verb: model.RuleInsert, Rule: disabled(r, hidden)})
		if head > 0 {
			edits = append(edits, model.RuleEdit{Verb: model.RuleMove, To: head, Rule: disabled(r, hidden)})
		}
	}
	for i, r := range come {
		if inForce && !r.Disabled {
			edits = append(edits, model.RuleEdit{Verb: model.RuleEnable, At: head + i, Rule: r})
		}
	}
	for i, r := range slices.Backward(old) {
		edits = append(edits, model.RuleEdit{Verb: model.RuleRemove, At: head + len(come) + i, Rule: r})
	}
	return edits
}

func disabled(r model.FirewallRule, is bool) model.FirewallRule {
	r.Disabled = r.Disabled || is
	return r
}

// settingsGone returns the settings that a rule has and is to have no more.
func settingsGone(have, want model.FirewallRule) (keys []string) {
	then := want.Settings()
	for _, k := range slices.Sorted(keysOf(have.Settings())) {
		if _, stays := then[k]; !stays {
			keys = append(keys, k)
		}
	}
	return keys
}

// reference is an alias or a set that a rule names.
var reference = regexp.MustCompile(`^(\+?)(dc/|guest/|sdn/)?([A-Za-z][A-Za-z0-9_-]+)$`)

// lacksRules waits if rules that a guest is to get name what the cluster doesn't have.
func (p *planner) lacksRules(o *Object, want *model.Firewall, have *model.SeenFirewall) bool {
	if want == nil || have != nil && want.Equal(&have.Firewall) {
		return false
	}
	rules := want.Rules
	if have != nil {
		rules = withoutRules(rules, have.Rules)
	}
	cluster := p.have.Firewall
	if p.lookFirewall(o, want); cluster == nil || o.Look.FirewallOff {
		o.Look.Firewall = cluster == nil
		return true
	}
	for _, r := range rules {
		switch {
		case r.Type == model.FirewallGroup && cluster.Groups != nil && !cluster.Groups[strings.ToLower(r.Action)]:
			o.wait(model.WaitMissing, fmt.Sprintf("there is no security group %s: make it under Datacenter, Firewall, Security Group%s", r.Action, named("; there are ", cluster.Groups)))
		case r.Macro != "" && cluster.Macros != nil && !cluster.Macros[strings.ToLower(r.Macro)]:
			o.wait(model.WaitMissing, fmt.Sprintf("the firewall has no macro %s: pvesh get /cluster/firewall/macros lists those that there are", r.Macro))
		}
		for _, address := range []string{r.Source, r.Dest} {
			p.lacksReference(o, cluster.Refs, address)
		}
	}
	return o.Wait != nil
}

// lacksReference waits if a rule names an alias or a set that the cluster doesn't have. Those of SDN
// depend on who asks, and those of a guest come from its template.
func (p *planner) lacksReference(o *Object, refs map[string]bool, address string) {
	m := reference.FindStringSubmatch(address)
	if m == nil || refs == nil || m[2] == "sdn/" || m[2] == "guest/" || refs[m[1]+strings.ToLower(m[3])] {
		return
	}
	what := "alias"
	if m[1] != "" {
		what = "IP set"
	}
	o.wait(model.WaitMissing, fmt.Sprintf("the firewall of the cluster has no %s %s: make it under Datacenter, Firewall, or write %sguest/%[2]s for one that the template has", what, m[3], m[1]))
}

func named(before string, names map[string]bool) string {
	if len(names) == 0 {
		return ""
	}
	return before + strings.Join(model.NamesOf(names), ", ")
}

// noteFirewall says why a firewall has no effect.
func (p *planner) noteFirewall(o *Object, want *model.Firewall, nics []model.NIC) {
	if !want.On() {
		return
	}
	if off := p.have.FirewallOff; off != nil && *off {
		o.note("the firewall of the cluster is off, and so is that of the machine: turn it on under Datacenter, Firewall, Options")
	}
	for _, n := range nics {
		if !n.Firewall {
			o.note("the firewall of the machine has no effect on %s, which isn't under it", n.Slot)
		}
	}
}
