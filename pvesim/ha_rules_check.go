package pvesim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// haRule is a rule taken apart.
type haRule struct {
	kind, affinity string
	disabled       bool
	resources      map[string]bool
	nodes          map[string]int // priority by node
}

func newHARule(sec map[string]string) haRule {
	r := haRule{
		kind: sec["type"], affinity: sec["affinity"], disabled: sec["disable"] == "1",
		resources: map[string]bool{}, nodes: map[string]int{},
	}
	for _, sid := range schema.SplitList(sec["resources"]) {
		r.resources[sid] = true
	}
	for _, entry := range schema.SplitList(sec["nodes"]) {
		name, priority, _ := strings.Cut(entry, ":")
		r.nodes[name], _ = strconv.Atoi(priority)
	}
	return r
}

// priorities reports whether the nodes of a rule differ in priority.
func (r haRule) priorities() bool {
	seen := map[int]bool{}
	for _, p := range r.nodes {
		seen[p] = true
	}
	return len(seen) > 1
}

func (r haRule) shares(resources map[string]bool) int {
	n := 0
	for sid := range r.resources {
		if resources[sid] {
			n++
		}
	}
	return n
}

// ruleErrors says what is wrong with rules, by rule.
type ruleErrors map[string]optionErrors

// optionErrors are texts by option.
type optionErrors map[string][]string

func (e optionErrors) texts() map[string]string {
	out := map[string]string{}
	for option, list := range e {
		out[option] = strings.Join(list, ", ")
	}
	return out
}

func (e ruleErrors) add(id, text string) {
	if e[id] == nil {
		e[id] = optionErrors{}
	}
	e[id]["resources"] = append(e[id]["resources"], text)
}

// feasible are the rules that nothing is wrong with.
func (e ruleErrors) feasible(rules map[string]map[string]string) map[string]bool {
	out := map[string]bool{}
	for id := range rules {
		if len(e[id]) == 0 {
			out[id] = true
		}
	}
	return out
}

// ruleSet holds the rules that are in force, by kind.
type ruleSet struct{ onNodes, positive, negative map[string]haRule }

// ruleErrors checks the rules, with changed ones in their place, against each
// other.
func (s *Sim) ruleErrors(changed map[string]map[string]string) ruleErrors {
	set := ruleSet{map[string]haRule{}, map[string]haRule{}, map[string]haRule{}}
	all := maps.Clone(s.state.HA.Rules)
	maps.Copy(all, changed)
	for id, sec := range all {
		rule := newHARule(sec)
		switch {
		case rule.disabled:
		case rule.kind == "node-affinity":
			set.onNodes[id] = rule
		case rule.affinity == "positive":
			set.positive[id] = rule
		default:
			set.negative[id] = rule
		}
	}
	errs := ruleErrors{}
	set.checkReferences(errs)
	set.checkCounts(errs, s.haNodes())
	set.checkAffinities(errs)
	set.checkPriorities(errs)
	set.checkPositive(errs)
	set.checkNegative(errs)
	return errs
}

// checkReferences: a resource may be in one rule about nodes only.
func (set ruleSet) checkReferences(errs ruleErrors) {
	for _, id := range sortedKeys(set.onNodes) {
		for _, sid := range sortedKeys(set.onNodes[id].resources) {
			for other, rule := range set.onNodes {
				if other != id && rule.resources[sid] {
					errs.add(id, "resource '"+sid+"' is already used in another node affinity rule")
					break
				}
			}
		}
	}
}

func (set ruleSet) checkCounts(errs ruleErrors, nodes int) {
	for _, rules := range []map[string]haRule{set.positive, set.negative} {
		for _, id := range sortedKeys(rules) {
			if len(rules[id].resources) < 2 {
				errs.add(id, "rule is ineffective as there are less than two resources")
			}
		}
	}
	for _, id := range sortedKeys(set.negative) {
		if len(set.negative[id].resources) > nodes {
			errs.add(id, "rule defines more resources than available nodes")
		}
	}
}

// company are positive rules that share resources, and all their resources.
type company struct {
	ids       []string
	resources map[string]bool
}

// companies joins positive rules that share resources. As in Proxmox, a rule
// joins the first company that it has something in common with.
func (set ruleSet) companies() []*company {
	ids := slices.SortedFunc(maps.Keys(set.positive), func(a, b string) int {
		return strings.Compare(first(set.positive[a].resources)+" "+a, first(set.positive[b].resources)+" "+b)
	})
	var all []*company
	for _, id := range ids {
		rule := set.positive[id]
		i := slices.IndexFunc(all, func(c *company) bool { return rule.shares(c.resources) > 0 })
		if i < 0 {
			all = append(all, &company{ids: []string{id}, resources: maps.Clone(rule.resources)})
			continue
		}
		all[i].ids = append(all[i].ids, id)
		maps.Copy(all[i].resources, rule.resources)
	}
	return all
}

func first(set map[string]bool) string {
	if keys := sortedKeys(set); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// checkAffinities: two resources can't be kept together and apart.
func (set ruleSet) checkAffinities(errs ruleErrors) {
	for _, c := range set.companies() {
		for _, id := range sortedKeys(set.negative) {
			if set.negative[id].shares(c.resources) < 2 {
				continue
			}
			errs.add(id, "rule shares two or more resources with a positive resource affinity rule")
			for _, p := range c.ids {
				errs.add(p, "rule shares two or more resources with a negative resource affinity rule")
			}
		}
	}
}

// checkPriorities: nodes of different priority don't go with rules between
// resources.
func (set ruleSet) checkPriorities(errs ruleErrors) {
	for _, rules := range []map[string]haRule{set.negative, set.positive} {
		for _, id := range sortedKeys(rules) {
			var paired []string
			conflict := false
			for other, on := range set.onNodes {
				if on.shares(rules[id].resources) > 0 {
					paired, conflict = append(paired, other), conflict || on.priorities()
				}
			}
			if !conflict {
				continue
			}
			errs.add(id, "resources are in node affinity rules with multiple priorities")
			for _, other := range paired {
				errs.add(other, "resources are in a resource affinity rule and cannot be in"+
					" a node affinity rule with multiple priorities")
			}
		}
	}
}

// checkPositive: resources that are kept together may be in one rule about
// nodes only.
func (set ruleSet) checkPositive(errs ruleErrors) {
	for _, c := range set.companies() {
		var paired []string
		for id, on := range set.onNodes {
			if on.shares(c.resources) > 0 {
				paired = append(paired, id)
			}
		}
		if len(paired) < 2 {
			continue
		}
		for _, id := range c.ids {
			errs.add(id, "resources are in multiple node affinity rules")
		}
		for _, id := range paired {
			errs.add(id, "at least one resource is in a positive resource affinity"+
				" rule and there are other resources in at least one"+
				" other node affinity rule already")
		}
	}
}

// checkNegative: resources that are kept apart need as many nodes.
func (set ruleSet) checkNegative(errs ruleErrors) {
	for _, id := range sortedKeys(set.negative) {
		rule := set.negative[id]
		nodes, located := map[string]bool{}, map[string]bool{}
		var paired []string
		for other, on := range set.onNodes {
			if on.shares(rule.resources) == 0 {
				continue
			}
			paired = append(paired, other)
			for sid := range on.resources {
				if rule.resources[sid] {
					located[sid] = true
				}
			}
			for node := range on.nodes {
				nodes[node] = true
			}
		}
		if len(nodes) >= len(located) {
			continue
		}
		errs.add(id, "two or more resources are restricted to less nodes than available to the resources")
		for _, other := range paired {
			errs.add(other, "at least one resource is in a negative resource affinity"+
				" rule and this rule would restrict these to less nodes than available to the resources")
		}
	}
}
