package pvesim

import (
	"maps"
	"slices"
	"strconv"
)

// ruleList is where the rules of a call are.
type ruleList struct {
	scope firewallScope
	rules []FirewallRule
	save  func([]FirewallRule)
}

type rulesOf func(*call) (ruleList, error)

// fileRules are the rules of a scope's file.
func fileRules(scope scopeOf) rulesOf {
	return func(c *call) (ruleList, error) {
		at := scope(c)
		fw := &c.state.Firewall
		return ruleList{at, fw.file(at.name).Rules, func(rules []FirewallRule) { fw.edit(at.name).Rules = rules }}, nil
	}
}

// groupRules are those of a security group.
func groupRules(c *call) (ruleList, error) {
	group := c.state.Firewall.Groups[c.params.Str("group")]
	if group == nil {
		return ruleList{}, die("no such security group '%s'", c.params.Str("group"))
	}
	return ruleList{firewallScope{clusterScope, "group"}, group.Rules, func(rules []FirewallRule) { group.Rules = rules }}, nil
}

// ruleSettings are what a rule may have.
var ruleSettings = []string{
	"action", "comment", "dest", "dport", "enable", "icmp-type", "iface", "log", "macro", "proto", "source", "sport", "type",
}

// ruleEntry is a rule as it is read back: with its IP version, and with what
// became wrong with it.
func (c *call) ruleEntry(l ruleList, pos int) map[string]any {
	rule := l.rules[pos]
	m := map[string]any{"pos": pos, "digest": listDigest(l.rules)}
	for k, v := range rule {
		m[k] = v
	}
	m["enable"] = atoi(rule["enable"])
	check := c.verifyRule(rule, l.scope)
	if check.version != 0 {
		m["ipversion"] = check.version
	}
	if len(check.fields) > 0 {
		m["errors"] = check.fields
	}
	return m
}

// position is the rule that the path names.
func (l ruleList) position(c *call) (int, error) {
	pos, err := strconv.Atoi(c.params.Str("pos"))
	if err != nil || pos >= len(l.rules) {
		return 0, die("no rule at position %s", c.params.Str("pos"))
	}
	return pos, nil
}

func listRules(rules rulesOf) handler {
	return func(c *call) (any, error) {
		l, err := rules(c)
		if err != nil {
			return nil, err
		}
		list := []map[string]any{}
		for pos := range l.rules {
			list = append(list, c.ruleEntry(l, pos))
		}
		return list, nil
	}
}

func getRule(rules rulesOf) handler {
	return func(c *call) (any, error) {
		l, err := rules(c)
		if err != nil {
			return nil, err
		}
		pos, err := l.position(c)
		if err != nil {
			return nil, err
		}
		entry := c.ruleEntry(l, pos)
		entry["pos"] = c.params.Str("pos") // a string here, unlike in the list
		return entry, nil
	}
}

// setRule puts the given settings into a rule; an empty one and "-" remove
// it.
func (c *call) setRule(rule FirewallRule) {
	for _, k := range ruleSettings {
		switch v := c.params.Str(k); {
		case !c.params.Has(k):
		case v == "" || v == "-":
			delete(rule, k)
		default:
			rule[k] = v
		}
	}
}

// kept is a rule as it is read back from its line of the file.
func (r FirewallRule) kept(env string) FirewallRule {
	out := FirewallRule{"type": r["type"], "action": r["action"], "enable": "1"}
	if r["enable"] != "" && atoi(r["enable"]) == 0 {
		out["enable"] = "0"
	}
	if comment := fileComment(r["comment"]); comment != "" && comment != "0" {
		out["comment"] = comment
	}
	keys := []string{"dest", "dport", "icmp-type", "log", "macro", "proto", "source", "sport"}
	if r["type"] == "group" {
		keys = nil
	}
	if env != "group" {
		keys = append(keys, "iface")
	}
	for _, k := range keys {
		if v := r[k]; v != "" && (v != "0" || k == "icmp-type") {
			out[k] = v
		}
	}
	return out
}

// createRule puts the rule in front of the others, whatever pos says.
func createRule(rules rulesOf) handler {
	return func(c *call) (any, error) {
		l, err := rules(c)
		if err != nil {
			return nil, err
		}
		rule := FirewallRule{}
		c.setRule(rule)
		check := c.verifyRule(rule, l.scope)
		if check.err != nil {
			return nil, check.err
		}
		if check.macro != "" {
			rule["macro"] = check.macro
		}
		if !c.params.Has("enable") {
			rule["enable"] = "0"
		}
		l.save(slices.Insert(slices.Clone(l.rules), 0, rule.kept(l.scope.env)))
		return nil, nil
	}
}

// ruleToChange is the rule that the path names, if the rules are what the
// caller saw.
func (c *call) ruleToChange(rules rulesOf) (l ruleList, pos int, err error) {
	if l, err = rules(c); err != nil {
		return l, 0, err
	}
	if err := c.checkDigest(listDigest(l.rules)); err != nil {
		return l, 0, err
	}
	pos, err = l.position(c)
	return l, pos, err
}

func updateRule(rules rulesOf) handler {
	return func(c *call) (any, error) {
		l, pos, err := c.ruleToChange(rules)
		if err != nil {
			return nil, err
		}
		if to := c.params.Int("moveto"); c.params.Has("moveto") && to != pos {
			l.save(moved(l.rules, pos, to))
			return nil, nil
		}
		rule := maps.Clone(l.rules[pos])
		c.setRule(rule)
		if err := c.deleteSettings(rule); err != nil {
			return nil, err
		}
		check := c.verifyRule(rule, l.scope)
		if check.err != nil {
			return nil, check.err
		}
		if check.macro != "" {
			rule["macro"] = check.macro
		}
		next := slices.Clone(l.rules)
		next[pos] = rule.kept(l.scope.env)
		l.save(next)
		return nil, nil
	}
}

// moved puts the rule at pos before the one that is at to.
func moved(rules []FirewallRule, pos, to int) []FirewallRule {
	var out []FirewallRule
	for i, rule := range rules {
		if i == pos {
			continue
		}
		if i == to {
			out = append(out, rules[pos])
		}
		out = append(out, rule)
	}
	if to >= len(rules) {
		out = append(out, rules[pos])
	}
	return out
}

// deleteSettings removes what the call asks to.
func (c *call) deleteSettings(rule FirewallRule) error {
	for _, k := range c.params.List("delete") {
		switch {
		case k == "type" || k == "action":
			return badParam("delete", "unable to delete required property '%s'", k)
		case !slices.Contains(ruleSettings, k) && k != "pos" && k != "digest":
			return badParam("delete", "no such property ('%s')", k)
		}
		delete(rule, k)
	}
	return nil
}

func deleteRule(rules rulesOf) handler {
	return func(c *call) (any, error) {
		l, pos, err := c.ruleToChange(rules)
		if err != nil {
			return nil, err
		}
		l.save(slices.Delete(slices.Clone(l.rules), pos, pos+1))
		return nil, nil
	}
}
