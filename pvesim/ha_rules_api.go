package pvesim

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// HA groups say until release 8 where resources may run; rules from 9.

func (c *call) groupsGone(doing string) error {
	if c.atLeast(9) {
		return die("cannot %s: ha groups have been migrated to rules", doing)
	}
	return nil
}

func (c *call) haGroupEntry(id string) map[string]any {
	m := c.typedSection(c.state.HA.Groups[id])
	m["group"], m["type"], m["digest"] = id, "group", sectionDigest(c.state.HA.Groups)
	return m
}

func listHAGroups(c *call) (any, error) {
	if err := c.groupsGone("index groups"); err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.HA.Groups)) {
		list = append(list, c.haGroupEntry(id))
	}
	return list, nil
}

func getHAGroup(c *call) (any, error) {
	if err := c.groupsGone("read group"); err != nil {
		return nil, err
	}
	id := c.params.Str("group")
	if c.state.HA.Groups[id] == nil {
		return nil, die("no such ha group '%s'", id)
	}
	return c.haGroupEntry(id), nil
}

func createHAGroup(c *call) (any, error) {
	if err := c.groupsGone("create group"); err != nil {
		return nil, err
	}
	id := c.params.Str("group")
	if c.state.HA.Groups[id] != nil {
		return nil, die("create ha group failed: ha group ID '%s' already defined", id)
	}
	c.state.HA.Groups[id] = c.section("group", "type")
	return nil, nil
}

func updateHAGroup(c *call) (any, error) {
	if err := c.groupsGone("update group"); err != nil {
		return nil, err
	}
	g := c.state.HA.Groups[c.params.Str("group")]
	if g == nil {
		return nil, die("update ha group failed: no such ha group '%s'", c.params.Str("group"))
	}
	return nil, c.updateSection(g, sectionDigest(c.state.HA.Groups), "group", "type")
}

func deleteHAGroup(c *call) (any, error) {
	if err := c.groupsGone("delete group"); err != nil {
		return nil, err
	}
	id := c.params.Str("group")
	for _, r := range c.state.HA.Resources {
		if r["group"] == id {
			return nil, die("delete ha group failed: ha group is used by resource")
		}
	}
	delete(c.state.HA.Groups, id)
	return nil, nil
}

// haRuleEntry is a rule with the order in which it was made.
func (c *call) haRuleEntry(id string) map[string]any {
	rule := maps.Clone(c.state.HA.Rules[id])
	order := atoi(rule["order"])
	delete(rule, "order")
	m := c.typedSection(rule)
	m["rule"], m["order"], m["digest"] = id, order, sectionDigest(c.state.HA.Rules)
	return m
}

func listHARules(c *call) (any, error) {
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.HA.Rules)) {
		rule := c.state.HA.Rules[id]
		if want := c.params.Str("type"); want != "" && want != rule["type"] {
			continue
		}
		if sid := c.params.Str("resource"); sid != "" && !slices.Contains(schema.SplitList(rule["resources"]), sid) {
			continue
		}
		list = append(list, c.haRuleEntry(id))
	}
	return list, nil
}

func getHARule(c *call) (any, error) {
	id := c.params.Str("rule")
	if c.state.HA.Rules[id] == nil {
		return nil, die("no such ha rule '%s'", id)
	}
	return c.haRuleEntry(id), nil
}

func createHARule(c *call) (any, error) {
	id := c.params.Str("rule")
	rule := c.section("rule")
	if !c.params.Bool("disable") {
		delete(rule, "disable")
	}
	if err := requireForRule(rule); err != nil {
		return nil, err
	}
	if c.state.HA.Rules[id] != nil {
		return nil, die("create ha rule failed: HA rule '%s' already defined", id)
	}
	order := 0
	for _, r := range c.state.HA.Rules {
		order = max(order, atoi(r["order"]))
	}
	rule["order"] = itoa(order + 1)
	if err := c.checkRule(id, rule, "create ha rule failed: "); err != nil {
		return nil, err
	}
	c.state.HA.Rules[id] = rule
	return nil, nil
}

// requireForRule checks for the options that only some kinds of rules have.
func requireForRule(rule map[string]string) error {
	need := map[string]string{"node-affinity": "nodes", "resource-affinity": "affinity"}[rule["type"]]
	if need != "" && rule[need] == "" {
		return die("missing value for required option '%s'", need)
	}
	for _, alien := range map[string][]string{"node-affinity": {"affinity"}, "resource-affinity": {"nodes", "strict"}}[rule["type"]] {
		if rule[alien] != "" {
			return die("unexpected property '%s'", alien)
		}
	}
	return nil
}

// checkRule refuses rules about resources or nodes that aren't there, and
// those that can't be kept beside the others.
func (c *call) checkRule(id string, rule map[string]string, doing string) error {
	var unmanaged, unknown []string
	sids := schema.SplitList(rule["resources"])
	for _, sid := range sids {
		if c.state.HA.Resources[sid] == nil {
			unmanaged = append(unmanaged, sid)
		}
	}
	if len(unmanaged) > 0 {
		slices.Sort(unmanaged)
		return die("%scannot use unmanaged resource(s) %s.", doing, strings.Join(unmanaged, ", "))
	}
	for _, n := range schema.SplitList(rule["nodes"]) {
		name, _, _ := strings.Cut(n, ":")
		if c.state.Nodes[name] == nil {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return die("%scannot use non-existent node(s) %s.", doing, strings.Join(unknown, ", "))
	}
	errs := map[string]string{}
	switch rule["type"] {
	case "resource-affinity":
		if len(sids) < 2 {
			errs["resources"] = "rule is ineffective as there are less than two resources"
		}
		if rule["affinity"] == "negative" && len(sids) > len(c.state.Nodes) {
			errs["resources"] = "rule defines more resources than available nodes"
		}
	case "node-affinity":
		for other, r := range c.state.HA.Rules {
			if other == id || r["type"] != "node-affinity" || r["disable"] == "1" {
				continue
			}
			for _, sid := range schema.SplitList(r["resources"]) {
				if slices.Contains(sids, sid) {
					errs["resources"] = "resource '" + sid + "' is already used in another node affinity rule"
				}
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	fail := badParams(errs)
	fail.text = "Rule '" + id + "' is invalid.\n"
	return fail
}

func updateHARule(c *call) (any, error) {
	id := c.params.Str("rule")
	rule := c.state.HA.Rules[id]
	if rule == nil {
		return nil, die("update HA rules failed: HA rule '%s' does not exist", id)
	}
	next := maps.Clone(rule)
	if err := c.updateSection(next, sectionDigest(c.state.HA.Rules), "rule", "type"); err != nil {
		return nil, err
	}
	if next["disable"] != "1" {
		delete(next, "disable")
	}
	if err := c.checkRule(id, next, "update HA rules failed: "); err != nil {
		return nil, err
	}
	c.state.HA.Rules[id] = next
	return nil, nil
}

func deleteHARule(c *call) (any, error) {
	delete(c.state.HA.Rules, c.params.Str("rule"))
	return nil, nil
}
