package pvesim

import (
	"maps"
	"slices"
	"strconv"
)

// firewallRoutes are firewall options, rules and groups. Rules belong to the
// cluster, a node, a guest or a security group: their scope.
func firewallRoutes() map[string]handler {
	routes := map[string]handler{
		"GET /cluster/firewall/groups":            listFirewallGroups,
		"POST /cluster/firewall/groups":           createFirewallGroup,
		"DELETE /cluster/firewall/groups/{group}": deleteFirewallGroup,
		"GET /cluster/firewall/ipset":             emptyList,
		"GET /cluster/firewall/aliases":           emptyList,
	}
	for base, scope := range map[string]func(*call) (string, error){
		"/cluster/firewall":                  clusterScope,
		"/nodes/{node}/firewall":             nodeScope,
		"/nodes/{node}/qemu/{vmid}/firewall": guestScope,
	} {
		routes["GET "+base+"/options"] = withScope(scope, firewallOptions)
		routes["PUT "+base+"/options"] = withScope(scope, setFirewallOptions)
		addRuleRoutes(routes, base+"/rules", scope)
	}
	addRuleRoutes(routes, "/cluster/firewall/groups/{group}", groupScope)
	routes["GET /nodes/{node}/qemu/{vmid}/firewall/ipset"] = withScope(guestScope, noFirewallSets)
	routes["GET /nodes/{node}/qemu/{vmid}/firewall/aliases"] = withScope(guestScope, noFirewallSets)
	return routes
}

type scoped func(c *call, scope string) (any, error)

func withScope(scope func(*call) (string, error), h scoped) handler {
	return func(c *call) (any, error) {
		s, err := scope(c)
		if err != nil {
			return nil, err
		}
		return h(c, s)
	}
}

func addRuleRoutes(routes map[string]handler, base string, scope func(*call) (string, error)) {
	routes["GET "+base] = withScope(scope, listRules)
	routes["POST "+base] = withScope(scope, createRule)
	routes["GET "+base+"/{pos}"] = withScope(scope, getRule)
	routes["PUT "+base+"/{pos}"] = withScope(scope, updateRule)
	routes["DELETE "+base+"/{pos}"] = withScope(scope, deleteRule)
}

func clusterScope(*call) (string, error) { return "cluster", nil }
func nodeScope(c *call) (string, error)  { return "node/" + c.node(), nil }

// guestScope: the firewall of a guest is a file of its own, which may be
// read and written whether or not the guest is there.
func guestScope(c *call) (string, error) { return "vm/" + c.params.Str("vmid"), nil }

func groupScope(c *call) (string, error) {
	group := c.params.Str("group")
	if c.state.Firewall.Groups[group] == nil {
		return "", die("no such security group '%s'", group)
	}
	return "group/" + group, nil
}

func noFirewallSets(*call, string) (any, error) { return []any{}, nil }

// firewallDigest is the checksum of a scope's firewall file.
func (s *Sim) firewallDigest(scope string) string {
	file := map[string]any{}
	if o := s.state.Firewall.Options[scope]; len(o) > 0 {
		file["options"] = o
	}
	if r := s.state.Firewall.Rules[scope]; len(r) > 0 {
		file["rules"] = r
	}
	return sectionDigest(file)
}

func firewallOptions(c *call, scope string) (any, error) {
	writer := c.schema.Lookup("PUT", c.ep.Path)
	out := map[string]any{"digest": c.firewallDigest(scope)}
	for k, v := range c.state.Firewall.Options[scope] {
		out[k] = v
		if p := writer.Param(k); p != nil && (p.Type == "integer" || p.Type == "boolean") {
			out[k] = atoi(v)
		}
	}
	return out, nil
}

func setFirewallOptions(c *call, scope string) (any, error) {
	options := maps.Clone(c.state.Firewall.Options[scope])
	if options == nil {
		options = map[string]string{}
	}
	if err := c.updateSection(options, c.firewallDigest(scope), "node", "vmid"); err != nil {
		return nil, err
	}
	c.state.Firewall.Options[scope] = options
	return nil, nil
}

func (c *call) ruleEntry(scope string, pos int) map[string]any {
	m := map[string]any{"pos": pos, "digest": c.firewallDigest(scope)}
	for k, v := range c.state.Firewall.Rules[scope][pos] {
		m[k] = v
	}
	m["enable"] = atoi(c.state.Firewall.Rules[scope][pos]["enable"])
	return m
}

func listRules(c *call, scope string) (any, error) {
	list := []map[string]any{}
	for pos := range c.state.Firewall.Rules[scope] {
		list = append(list, c.ruleEntry(scope, pos))
	}
	return list, nil
}

// rulePos is the rule that the path names.
func (c *call) rulePos(scope string) (int, error) {
	pos, err := strconv.Atoi(c.params.Str("pos"))
	if err != nil || pos >= len(c.state.Firewall.Rules[scope]) {
		return 0, die("no rule at position %s", c.params.Str("pos"))
	}
	return pos, nil
}

func getRule(c *call, scope string) (any, error) {
	pos, err := c.rulePos(scope)
	if err != nil {
		return nil, err
	}
	entry := c.ruleEntry(scope, pos)
	entry["pos"] = c.params.Str("pos") // a string here, unlike in the list
	return entry, nil
}

// createRule puts the rule in front of the others, whatever pos says.
func createRule(c *call, scope string) (any, error) {
	rule := c.section("node", "vmid", "pos", "group")
	if rule["type"] == "group" {
		if c.state.Firewall.Groups[rule["action"]] == nil {
			return nil, badParam("action", "security group '%s' does not exist", rule["action"])
		}
	}
	setDefault(Conf(rule), "enable", "0")
	rules := c.state.Firewall.Rules[scope]
	c.state.Firewall.Rules[scope] = slices.Insert(rules, 0, rule)
	return nil, nil
}

func updateRule(c *call, scope string) (any, error) {
	pos, err := c.rulePos(scope)
	if err != nil {
		return nil, err
	}
	rules := c.state.Firewall.Rules[scope]
	rule := maps.Clone(rules[pos])
	if c.params.Has("moveto") {
		if err := c.checkDigest(c.firewallDigest(scope)); err != nil {
			return nil, err
		}
		rules = slices.Delete(slices.Clone(rules), pos, pos+1)
		to := c.params.Int("moveto")
		if to > pos {
			to--
		}
		c.state.Firewall.Rules[scope] = slices.Insert(rules, min(to, len(rules)), rule)
		return nil, nil
	}
	if err := c.updateSection(rule, c.firewallDigest(scope), "node", "vmid", "pos", "group"); err != nil {
		return nil, err
	}
	rules[pos] = rule
	return nil, nil
}

func deleteRule(c *call, scope string) (any, error) {
	pos, err := c.rulePos(scope)
	if err != nil {
		return nil, err
	}
	if err := c.checkDigest(c.firewallDigest(scope)); err != nil {
		return nil, err
	}
	c.state.Firewall.Rules[scope] = slices.Delete(c.state.Firewall.Rules[scope], pos, pos+1)
	return nil, nil
}

func listFirewallGroups(c *call) (any, error) {
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Firewall.Groups)) {
		m := map[string]any{"group": id, "digest": c.groupsDigest()}
		if comment := c.state.Firewall.Groups[id]["comment"]; comment != "" {
			m["comment"] = comment
		}
		list = append(list, m)
	}
	return list, nil
}

func (c *call) groupsDigest() string { return sectionDigest(c.state.Firewall.Groups) }

// createFirewallGroup also renames one.
func createFirewallGroup(c *call) (any, error) {
	fw := &c.state.Firewall
	id := c.params.Str("group")
	if old := c.params.Str("rename"); old != "" {
		if err := c.checkDigest(c.groupsDigest()); err != nil {
			return nil, err
		}
		if fw.Groups[old] == nil {
			return nil, badParam("group", "Security group '%s' does not exist", old)
		}
		if fw.Groups[id] != nil && id != old {
			return nil, badParam("group", "Security group '%s' does already exist", id)
		}
		for _, rules := range fw.Rules {
			for _, r := range rules {
				if r["type"] == "group" && r["action"] == old {
					r["action"] = id
				}
			}
		}
		group, rules := fw.Groups[old], fw.Rules["group/"+old]
		delete(fw.Groups, old)
		delete(fw.Rules, "group/"+old)
		fw.Groups[id], fw.Rules["group/"+id] = group, rules
		if c.params.Has("comment") {
			group["comment"] = c.params.Str("comment")
		}
		return nil, nil
	}
	if fw.Groups[id] != nil {
		return nil, badParam("group", "Security group '%s' already exists", id)
	}
	fw.Groups[id] = map[string]string{"comment": c.params.Str("comment")}
	return nil, nil
}

func deleteFirewallGroup(c *call) (any, error) {
	id := c.params.Str("group")
	if c.state.Firewall.Groups[id] == nil {
		return nil, nil
	}
	if len(c.state.Firewall.Rules["group/"+id]) > 0 {
		return nil, die("Security group '%s' is not empty", id)
	}
	delete(c.state.Firewall.Groups, id)
	delete(c.state.Firewall.Rules, "group/"+id)
	return nil, nil
}
