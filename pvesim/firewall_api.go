package pvesim

import (
	"maps"
	"strconv"
	"strings"
)

// firewallScope says which part of the firewall a call is about.
type firewallScope struct {
	name string // "cluster", "node/pve1", "vm/100"
	env  string // what rules may be about: cluster, host, vm, ct or group
}

type scopeOf func(*call) firewallScope

func clusterFirewall(*call) firewallScope { return firewallScope{clusterScope, "cluster"} }
func nodeFirewall(c *call) firewallScope  { return firewallScope{"node/" + c.node(), "host"} }

// guestFirewall: the firewall of a guest is a file of its own, which may be
// read and written whether or not the guest is there, and whatever its kind.
func guestFirewall(c *call) firewallScope {
	return firewallScope{vmScope(c.params.Int("vmid")), "vm"}
}

func containerFirewall(c *call) firewallScope {
	return firewallScope{vmScope(c.params.Int("vmid")), "ct"}
}

type scoped func(c *call, scope firewallScope) (any, error)

func withScope(scope scopeOf, h scoped) handler {
	return func(c *call) (any, error) { return h(c, scope(c)) }
}

// firewallRoutes are firewall options, rules, aliases, IP sets and groups.
func firewallRoutes() map[string]handler {
	routes := map[string]handler{
		"GET /cluster/firewall/groups":                  listFirewallGroups,
		"POST /cluster/firewall/groups":                 createFirewallGroup,
		"DELETE /cluster/firewall/groups/{group}":       deleteFirewallGroup,
		"GET /cluster/firewall/macros":                  listMacros,
		"GET /cluster/firewall/refs":                    withScope(clusterFirewall, listRefs),
		"GET /nodes/{node}/qemu/{vmid}/firewall/refs":   withScope(guestFirewall, listRefs),
		"GET /nodes/{node}/lxc/{vmid}/firewall/refs":    withScope(containerFirewall, listRefs),
		"GET /cluster/firewall/groups/{group}":          listRules(groupRules),
		"POST /cluster/firewall/groups/{group}":         createRule(groupRules),
		"GET /cluster/firewall/groups/{group}/{pos}":    getRule(groupRules),
		"PUT /cluster/firewall/groups/{group}/{pos}":    updateRule(groupRules),
		"DELETE /cluster/firewall/groups/{group}/{pos}": deleteRule(groupRules),
	}
	for base, scope := range map[string]scopeOf{
		"/cluster/firewall":                  clusterFirewall,
		"/nodes/{node}/firewall":             nodeFirewall,
		"/nodes/{node}/qemu/{vmid}/firewall": guestFirewall,
		"/nodes/{node}/lxc/{vmid}/firewall":  containerFirewall,
	} {
		routes["GET "+base+"/options"] = withScope(scope, firewallOptions)
		routes["PUT "+base+"/options"] = withScope(scope, setFirewallOptions)
		rules := fileRules(scope)
		routes["GET "+base+"/rules"] = listRules(rules)
		routes["POST "+base+"/rules"] = createRule(rules)
		routes["GET "+base+"/rules/{pos}"] = getRule(rules)
		routes["PUT "+base+"/rules/{pos}"] = updateRule(rules)
		routes["DELETE "+base+"/rules/{pos}"] = deleteRule(rules)
		if base != "/nodes/{node}/firewall" {
			addSetRoutes(routes, base, scope)
		}
	}
	return routes
}

// firewallEnabled: an "enable" beyond 1 is the time when somebody tried the
// firewall out; a minute later it is off again.
func (s *Sim) firewallEnabled(text string) int {
	n := atoi(text)
	if n > 1 && s.now().Unix()-int64(n) > 60 {
		return 0
	}
	return n
}

func firewallOptions(c *call, scope firewallScope) (any, error) {
	writer := c.schema.Lookup("PUT", c.ep.Path)
	options := c.state.Firewall.file(scope.name).Options
	out := map[string]any{"digest": sectionDigest(options)}
	for k, v := range options {
		p := writer.Param(k)
		switch {
		case k == "enable":
			out[k] = c.firewallEnabled(v)
		case p != nil && (p.Type == "integer" || p.Type == "boolean"):
			out[k] = atoi(v)
		default:
			out[k] = v
		}
	}
	return out, nil
}

func setFirewallOptions(c *call, scope firewallScope) (any, error) {
	options := maps.Clone(c.state.Firewall.file(scope.name).Options)
	if options == nil {
		options = map[string]string{}
	}
	if err := c.checkDigest(sectionDigest(options)); err != nil {
		return nil, err
	}
	given := c.section("node", "vmid")
	for _, k := range c.params.List("delete") {
		if k == "node" || k == "vmid" || k == "digest" || k == "delete" || c.ep.Param(k) == nil {
			return nil, badParam("delete", "no such option '%s'", k)
		}
		delete(options, k)
	}
	if n, err := strconv.Atoi(given["enable"]); err == nil {
		switch {
		case scope.env == "cluster" && n > 1:
			given["enable"] = strconv.FormatInt(c.now().Unix(), 10)
		case n != 0 && scope.env != "cluster":
			given["enable"] = "1"
		}
	}
	maps.Copy(options, given)
	c.state.Firewall.edit(scope.name).Options = options
	return nil, nil
}

// groupEntry is a security group in lists.
type groupEntry struct {
	Group   string `json:"group"`
	Comment string `json:"comment,omitempty"`
	Digest  string `json:"digest"`
}

func (c *call) groupEntries() []groupEntry {
	list := []groupEntry{}
	for _, id := range sortedKeys(c.state.Firewall.Groups) {
		list = append(list, groupEntry{Group: id, Comment: c.state.Firewall.Groups[id].Comment})
	}
	digest := listDigest(list)
	for i := range list {
		list[i].Digest = digest
	}
	return list
}

func listFirewallGroups(c *call) (any, error) { return c.groupEntries(), nil }

// groupsDigest is what the entries of the list of groups carry.
func (c *call) groupsDigest() string {
	if list := c.groupEntries(); len(list) > 0 {
		return list[0].Digest
	}
	return emptyDigest
}

// createFirewallGroup also renames one. Names are kept in lower case.
func createFirewallGroup(c *call) (any, error) {
	fw, id, old := &c.state.Firewall, c.params.Str("group"), c.params.Str("rename")
	kept := strings.ToLower(id)
	if old == "" {
		if fw.Groups[id] != nil {
			return nil, badParam("group", "Security group '%s' already exists", id)
		}
		if fw.Groups[kept] == nil {
			fw.Groups[kept] = &FirewallGroup{Comment: fileComment(c.params.Str("comment"))}
		}
		return nil, nil
	}
	if err := c.checkDigest(c.groupsDigest()); err != nil {
		return nil, err
	}
	group := fw.Groups[old]
	if group == nil {
		return nil, badParam("group", "Security group '%s' does not exist", old)
	}
	if fw.Groups[id] != nil && id != old {
		return nil, badParam("group", "Security group '%s' does already exist", id)
	}
	if c.params.Has("comment") {
		group.Comment = fileComment(c.params.Str("comment"))
	}
	if id == old {
		return nil, nil
	}
	delete(fw.Groups, old)
	fw.Groups[kept] = group
	fw.renameGroup(old, id)
	return nil, nil
}

func deleteFirewallGroup(c *call) (any, error) {
	id := c.params.Str("group")
	group := c.state.Firewall.Groups[id]
	if group == nil {
		return nil, die("no such security group '%s'", id)
	}
	if len(group.Rules) > 0 {
		return nil, die("Security group '%s' is not empty", id)
	}
	delete(c.state.Firewall.Groups, id)
	return nil, nil
}
