package pvesim

import (
	"maps"
	"slices"
	"strings"
)

func roleRoutes() map[string]handler {
	return map[string]handler{
		"GET /access/roles":             listRoles,
		"POST /access/roles":            createRole,
		"GET /access/roles/{roleid}":    readRole,
		"PUT /access/roles/{roleid}":    updateRole,
		"DELETE /access/roles/{roleid}": deleteRole,
	}
}

func listRoles(c *call) (any, error) {
	t := c.privTable()
	names := slices.AppendSeq(slices.Collect(maps.Keys(t.Roles)), maps.Keys(c.state.Access.Roles))
	slices.Sort(names)
	list := []map[string]any{}
	for _, name := range names {
		p, _ := c.rolePrivs(name)
		list = append(list, map[string]any{
			"roleid": name, "privs": strings.Join(t.List(p), ","), "special": flagInt(c.builtinRole(name)),
		})
	}
	return list, nil
}

func createRole(c *call) (any, error) {
	role := c.params.Str("roleid")
	if len(role) >= 3 && strings.EqualFold(role[:3], "PVE") {
		return nil, badParam("roleid", "cannot use role ID starting with the (case-insensitive) 'PVE' namespace")
	}
	if c.roleExists(role) {
		return nil, inUserConfig("create role failed", die("role '%s' already exists", role))
	}
	c.state.Access.Roles[role] = privSet(c.params.List("privs"))
	c.accessChanged()
	return nil, nil
}

func privSet(names []string) map[string]bool {
	set := map[string]bool{}
	for _, p := range names {
		set[p] = true
	}
	return set
}

func readRole(c *call) (any, error) {
	role := c.params.Str("roleid")
	p, ok := c.rolePrivs(role)
	if !ok {
		return nil, die("role '%s' does not exist", role)
	}
	out := map[string]any{}
	for _, name := range c.privTable().List(p) {
		out[name] = 1
	}
	return out, nil
}

func updateRole(c *call) (any, error) {
	role := c.params.Str("roleid")
	if c.builtinRole(role) {
		return nil, die("auto-generated role '%s' cannot be modified", role)
	}
	if !c.roleExists(role) {
		return nil, inUserConfig("update role failed", die("role '%s' does not exist", role))
	}
	set := privSet(c.params.List("privs"))
	if c.params.Bool("append") {
		maps.Copy(set, c.state.Access.Roles[role])
	}
	c.state.Access.Roles[role] = set
	c.accessChanged()
	return nil, nil
}

func deleteRole(c *call) (any, error) {
	role := c.params.Str("roleid")
	if c.builtinRole(role) {
		return nil, die("auto-generated role '%s' cannot be deleted", role)
	}
	if !c.roleExists(role) {
		return nil, inUserConfig("delete role failed", die("role '%s' does not exist", role))
	}
	delete(c.state.Access.Roles, role)
	c.accessChanged()
	return nil, nil
}
