package pvesim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// haRuleOptions are the options of rules by their type.
var haRuleOptions = map[string]sectionKind{
	"node-affinity":     {"resources": false, "nodes": false, "strict": true, "disable": true, "comment": true},
	"resource-affinity": {"resources": false, "affinity": false, "disable": true, "comment": true},
}

// ruleOrder lists the rules in the order in which they were made.
func (s *Sim) ruleOrder() []string {
	rules := s.state.HA.Rules
	return slices.SortedFunc(maps.Keys(rules), func(a, b string) int {
		return cmp.Or(cmp.Compare(atoi(rules[a]["order"]), atoi(rules[b]["order"])), cmp.Compare(a, b))
	})
}

// haRuleEntry is a rule as it is shown: with its place among the others, and
// with what is wrong with it.
func (c *call) haRuleEntry(id string, errs ruleErrors) map[string]any {
	rule := maps.Clone(c.state.HA.Rules[id])
	delete(rule, "order")
	m := c.typedSection(rule)
	m["rule"], m["digest"] = id, sectionDigest(c.state.HA.Rules)
	m["order"] = 1 + slices.Index(c.ruleOrder(), id)
	if len(errs[id]) > 0 {
		m["errors"] = errs[id]
	}
	return m
}

func listHARules(c *call) (any, error) {
	list, errs := []map[string]any{}, c.ruleErrors(nil)
	for _, id := range c.ruleOrder() {
		rule := c.state.HA.Rules[id]
		if want := c.params.Str("type"); want != "" && want != rule["type"] {
			continue
		}
		if c.params.Has("resource") && !newHARule(rule).resources[c.params.Str("resource")] {
			continue
		}
		list = append(list, c.haRuleEntry(id, errs))
	}
	return list, nil
}

func getHARule(c *call) (any, error) {
	id := c.params.Str("rule")
	if c.state.HA.Rules[id] == nil {
		return nil, die("no such ha rule '%s'", id)
	}
	return c.haRuleEntry(id, c.ruleErrors(nil)), nil
}

// ruleSection takes a rule's options out of the parameters, as they are kept.
func (c *call) ruleSection() map[string]string {
	rule := c.section("rule", "type")
	if !c.params.Bool("disable") {
		delete(rule, "disable")
	}
	return rule
}

// settle gives the lists of a rule their one spelling.
func settleRule(rule map[string]string) {
	parsed := newHARule(rule)
	if _, ok := rule["resources"]; ok {
		rule["resources"] = strings.Join(sortedKeys(parsed.resources), ",")
	}
	if _, ok := rule["nodes"]; ok {
		var nodes []string
		for _, name := range sortedKeys(parsed.nodes) {
			if p := parsed.nodes[name]; p != 0 {
				name += ":" + itoa(p)
			}
			nodes = append(nodes, name)
		}
		rule["nodes"] = strings.Join(nodes, ",")
	}
	if text, ok := rule["comment"]; ok {
		if rule["comment"] = percentDecode(text); text == "" {
			delete(rule, "comment")
		}
	}
}

func createHARule(c *call) (any, error) {
	id, typ := c.params.Str("rule"), c.params.Str("type")
	rule := c.ruleSection()
	if err := haRuleOptions[typ].check(rule, true); err != nil {
		return nil, err
	}
	settleRule(rule)
	rule["type"] = typ
	return nil, failedAs("create ha rule failed", c.addHARule(id, rule))
}

func (c *call) addHARule(id string, rule map[string]string) error {
	if c.state.HA.Rules[id] != nil {
		return die("HA rule '%s' already defined", id)
	}
	if err := c.checkRuleNames(rule); err != nil {
		return err
	}
	last := 0
	for _, r := range c.state.HA.Rules {
		last = max(last, atoi(r["order"]))
	}
	rule["order"] = itoa(last + 1)
	if errs := c.ruleErrors(map[string]map[string]string{id: rule})[id]; errs != nil {
		return invalidRule(id, errs.texts())
	}
	c.state.HA.Rules[id] = rule
	return nil
}

// checkRuleNames refuses rules about resources or nodes that aren't there.
func (c *call) checkRuleNames(rule map[string]string) error {
	parsed := newHARule(rule)
	if _, ok := rule["resources"]; ok {
		var unmanaged []string
		for _, sid := range sortedKeys(parsed.resources) {
			if c.state.HA.Resources[sid] == nil {
				unmanaged = append(unmanaged, sid)
			}
		}
		if len(parsed.resources) == 0 {
			return die("no resources were specified")
		}
		if len(unmanaged) > 0 {
			return die("cannot use unmanaged resource(s) %s.", strings.Join(unmanaged, ", "))
		}
	}
	if _, ok := rule["nodes"]; ok {
		var unknown []string
		for _, name := range sortedKeys(parsed.nodes) {
			if c.state.Nodes[name] == nil {
				unknown = append(unknown, name)
			}
		}
		if len(parsed.nodes) == 0 {
			return die("no nodes were specified")
		}
		if len(unknown) > 0 {
			return die("cannot use non-existent node(s) %s.", strings.Join(unknown, ", "))
		}
	}
	return nil
}

func updateHARule(c *call) (any, error) {
	return nil, failedAs("update HA rules failed", c.changeHARule(c.params.Str("rule")))
}

func (c *call) changeHARule(id string) error {
	if err := c.checkDigest(sectionDigest(c.state.HA.Rules)); err != nil {
		return err
	}
	rule := c.state.HA.Rules[id]
	if rule == nil {
		return die("HA rule '%s' does not exist", id)
	}
	options, changes := haRuleOptions[rule["type"]], c.ruleSection()
	if err := options.check(changes, false); err != nil {
		return err
	}
	settleRule(changes)
	if err := c.checkRuleNames(changes); err != nil {
		return err
	}
	next := maps.Clone(rule)
	for _, key := range schema.SplitList(c.text("delete")) {
		if err := options.remove(next, []string{key}); err != nil {
			return err
		}
		if _, ok := changes[key]; ok {
			return die("cannot set and delete property '%s' at the same time!", key)
		}
	}
	maps.Copy(next, changes)
	if errs := c.ruleErrors(map[string]map[string]string{id: next})[id]; errs != nil {
		return invalidRule(id, errs.texts())
	}
	c.state.HA.Rules[id] = next
	return nil
}

func deleteHARule(c *call) (any, error) {
	delete(c.state.HA.Rules, c.params.Str("rule"))
	return nil, nil
}
