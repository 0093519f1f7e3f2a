package pvesim

import (
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// haRoutes are the high-availability manager's resources, groups and rules.
func haRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/ha/resources":                 listHAResources,
		"POST /cluster/ha/resources":                createHAResource,
		"GET /cluster/ha/resources/{sid}":           getHAResource,
		"PUT /cluster/ha/resources/{sid}":           updateHAResource,
		"DELETE /cluster/ha/resources/{sid}":        deleteHAResource,
		"POST /cluster/ha/resources/{sid}/migrate":  moveHAResource,
		"POST /cluster/ha/resources/{sid}/relocate": moveHAResource,
		"GET /cluster/ha/groups":                    listHAGroups,
		"POST /cluster/ha/groups":                   createHAGroup,
		"GET /cluster/ha/groups/{group}":            getHAGroup,
		"PUT /cluster/ha/groups/{group}":            updateHAGroup,
		"DELETE /cluster/ha/groups/{group}":         deleteHAGroup,
		"GET /cluster/ha/rules":                     listHARules,
		"POST /cluster/ha/rules":                    createHARule,
		"GET /cluster/ha/rules/{rule}":              getHARule,
		"PUT /cluster/ha/rules/{rule}":              updateHARule,
		"DELETE /cluster/ha/rules/{rule}":           deleteHARule,
		"GET /cluster/ha/status/current":            haStatus,
	}
}

// parseSID reads "vm:100" or a bare VMID.
func (s *Sim) parseSID(sid string) (string, error) {
	if strings.Contains(sid, ":") {
		return sid, nil
	}
	vmid := atoi(sid)
	if s.state.VMs[vmid] == nil {
		return "", die("unable to detect SID from VMID - VM/CT %s does not exist", sid)
	}
	return "vm:" + sid, nil
}

func (c *call) haResourceEntry(sid string) map[string]any {
	m := c.typedSection(c.state.HA.Resources[sid])
	m["sid"], m["digest"] = sid, sectionDigest(c.state.HA.Resources)
	m["type"], _, _ = strings.Cut(sid, ":")
	return m
}

func listHAResources(c *call) (any, error) {
	list := []map[string]any{}
	for _, sid := range slices.Sorted(maps.Keys(c.state.HA.Resources)) {
		m := c.haResourceEntry(sid)
		if want := c.params.Str("type"); want == "" || want == m["type"] {
			list = append(list, m)
		}
	}
	return list, nil
}

func getHAResource(c *call) (any, error) {
	sid, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if c.state.HA.Resources[sid] == nil {
		return nil, die("no such resource '%s'", sid)
	}
	return c.haResourceEntry(sid), nil
}

func createHAResource(c *call) (any, error) {
	sid, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	kind, name, _ := strings.Cut(sid, ":")
	if given := c.params.Str("type"); given != "" && given != kind {
		return nil, die("types does not match")
	}
	if c.params.Has("group") && c.atLeast(9) {
		return nil, die("invalid parameter 'group': ha groups have been migrated to rules")
	}
	if kind != "vm" || c.state.VMs[atoi(name)] == nil {
		return nil, die("resource '%s' does not exist in cluster", sid)
	}
	if c.state.HA.Resources[sid] != nil {
		return nil, die("create resource failed: resource ID '%s' already defined", sid)
	}
	c.state.HA.Resources[sid] = c.section("sid", "type")
	c.haActs(sid)
	return nil, nil
}

func updateHAResource(c *call) (any, error) {
	sid, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if group := c.params.Str("group"); group != "" {
		if c.atLeast(9) {
			return nil, die("invalid parameter 'group': ha groups have been migrated to rules")
		}
		if c.state.HA.Groups[group] == nil {
			return nil, die("HA group '%s' does not exist", group)
		}
	}
	r := c.state.HA.Resources[sid]
	if r == nil {
		return nil, die("update resources config failed: no such resource '%s'", sid)
	}
	if err := c.updateSection(r, sectionDigest(c.state.HA.Resources), "sid", "type"); err != nil {
		return nil, err
	}
	c.haActs(sid)
	return nil, nil
}

func deleteHAResource(c *call) (any, error) {
	sid, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if c.state.HA.Resources[sid] == nil {
		return nil, die("cannot delete service '%s', not HA managed!", sid)
	}
	purge := !c.params.Has("purge") || c.params.Bool("purge")
	c.forgetHA(sid, purge)
	return nil, nil
}

// forgetHA removes a resource, and from the rules that name it.
func (s *Sim) forgetHA(sid string, purge bool) {
	delete(s.state.HA.Resources, sid)
	if !purge {
		return
	}
	for id, rule := range s.state.HA.Rules {
		left := slices.DeleteFunc(schema.SplitList(rule["resources"]), func(r string) bool { return r == sid })
		if len(left) == 0 {
			delete(s.state.HA.Rules, id)
			continue
		}
		rule["resources"] = strings.Join(left, ",")
	}
}

// moveHAResource asks the manager to move a resource to another node.
func moveHAResource(c *call) (any, error) {
	sid, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if c.state.HA.Resources[sid] == nil {
		return nil, die("resource '%s' is not HA managed", sid)
	}
	node := c.params.Str("node")
	if c.state.Nodes[node] == nil {
		return nil, die("no such cluster node '%s'", node)
	}
	if _, name, _ := strings.Cut(sid, ":"); c.haActive() {
		c.haMigrate(atoi(name), node)
	}
	if !c.atLeast(9) {
		return nil, nil
	}
	return map[string]any{"sid": sid, "requested-node": node}, nil
}

func haStatus(c *call) (any, error) {
	quorum := map[string]any{"id": "quorum", "type": "quorum", "node": c.entry, "status": "OK", "quorate": 1}
	list := []map[string]any{quorum}
	if c.atLeast(9) {
		list = append(list, map[string]any{
			"id": "fencing", "type": "fencing", "node": c.entry,
			"status": "standby (CRM watchdog standby)", "armed-state": "standby",
		})
	}
	for _, sid := range slices.Sorted(maps.Keys(c.state.HA.Resources)) {
		list = append(list, c.haServiceStatus(sid))
	}
	return list, nil
}

// haServiceStatus is a resource as the manager sees it: it takes resources
// up some time after they were made, and is at work on none here.
func (c *call) haServiceStatus(sid string) map[string]any {
	r := c.state.HA.Resources[sid]
	m := map[string]any{
		"id": "service:" + sid, "type": "service", "sid": sid, "state": "queued",
		"max_relocate": atoiOr(r["max_relocate"], 1), "max_restart": atoiOr(r["max_restart"], 1),
		"request_state": "started",
	}
	if r["state"] != "" {
		m["request_state"] = r["state"]
	}
	if r["state"] == "ignored" {
		m["state"] = "ignored"
	}
	if c.atLeast(9) {
		m["failback"] = atoiOr(r["failback"], 1)
	}
	for _, k := range []string{"comment", "group"} {
		if r[k] != "" {
			m[k] = r[k]
		}
	}
	_, name, _ := strings.Cut(sid, ":")
	if vm := c.state.VMs[atoi(name)]; vm != nil {
		m["node"] = vm.Node
	}
	m["status"] = sid + " (" + strAny(m["node"]) + ", " + strAny(m["state"]) + ")"
	return m
}
