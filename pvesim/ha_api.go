package pvesim

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// haRoutes are the high-availability manager's resources, groups and rules.
func haRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/ha":                           haIndex,
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
		"GET /cluster/ha/status/manager_status":     haManagerStatus,
	}
}

func haIndex(c *call) (any, error) {
	list := []map[string]any{{"id": "status"}, {"id": "resources"}, {"id": "groups"}}
	if c.atLeast(9) {
		list = append(list, map[string]any{"id": "rules"})
	}
	return list, nil
}

// parseSID reads "vm:100" or a bare VMID.
func (s *Sim) parseSID(sid string) (full, kind, name string, err error) {
	if kind, name, ok := strings.Cut(sid, ":"); ok {
		return sid, kind, name, nil
	}
	if s.state.VMs[atoi(sid)] == nil {
		return "", "", "", die("unable to detect SID from VMID - VM/CT %s does not exist", sid)
	}
	return "vm:" + sid, "vm", sid, nil
}

// haOptions are those of a resource.
func (c *call) haOptions() sectionKind {
	options := sectionKind{"state": true, "group": true, "comment": true, "max_restart": true, "max_relocate": true}
	if c.atLeast(9) {
		options["failback"] = true
	}
	return options
}

func (c *call) haResourceEntry(sid string) map[string]any {
	m := c.typedSection(c.state.HA.Resources[sid])
	m["sid"], m["digest"] = sid, sectionDigest(c.state.HA.Resources)
	m["type"], _, _ = strings.Cut(sid, ":")
	return m
}

func listHAResources(c *call) (any, error) {
	list := []map[string]any{}
	for _, sid := range sortedKeys(c.state.HA.Resources) {
		m := c.haResourceEntry(sid)
		if want := c.params.Str("type"); want != "" && want != m["type"] {
			continue
		}
		if group, ok := m["group"].(string); ok && c.state.HA.Groups[group] == nil {
			m["errors"] = map[string]any{"group": fmt.Sprintf("group '%s' does not exist", group)}
		}
		list = append(list, m)
	}
	return list, nil
}

func getHAResource(c *call) (any, error) {
	sid, _, _, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if c.state.HA.Resources[sid] == nil {
		return nil, die("no such resource '%s'", sid)
	}
	return c.haResourceEntry(sid), nil
}

var haVMID = regexp.MustCompile(`^[1-9][0-9]+$`)

func createHAResource(c *call) (any, error) {
	sid, kind, name, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if given := c.params.Str("type"); given != "" && given != kind {
		return nil, die("types does not match")
	}
	if c.params.Has("group") && c.atLeast(9) {
		return nil, die("invalid parameter 'group': ha groups have been migrated to rules")
	}
	switch {
	case kind != "vm" && kind != "ct":
		return nil, die("unknown section type '%s'", kind)
	case !haVMID.MatchString(name):
		return nil, die("invalid VMID")
	case c.state.VMs[atoi(name)] == nil:
		return nil, die("resource '%s' does not exist in cluster", sid)
	case kind == "ct":
		return nil, die("resource '%s' - guest with ID %s is not a container", sid, name)
	}
	options := c.section("sid", "type")
	if err := c.haOptions().check(options, true); err != nil {
		return nil, err
	}
	if c.state.HA.Resources[sid] != nil {
		return nil, die("create resource failed: resource ID '%s' already defined", sid)
	}
	c.addHA(sid, keepSection(options))
	return nil, nil
}

func updateHAResource(c *call) (any, error) {
	sid, kind, _, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if given := c.params.Str("type"); given != "" && given != kind {
		return nil, die("types does not match")
	}
	if group := c.params.Str("group"); group != "" && group != "0" {
		switch {
		case c.atLeast(9):
			return nil, die("invalid parameter 'group': ha groups have been migrated to rules")
		case c.state.HA.Groups[group] == nil:
			return nil, die("HA group '%s' does not exist", group)
		}
	}
	if err := c.changeHAResource(sid); err != nil {
		return nil, failedAs("update resources config failed", err)
	}
	c.haActs(sid)
	return nil, nil
}

func (c *call) changeHAResource(sid string) error {
	if err := c.checkDigest(sectionDigest(c.state.HA.Resources)); err != nil {
		return err
	}
	r := c.state.HA.Resources[sid]
	if r == nil {
		return die("no such resource '%s'", sid)
	}
	changes := c.section("sid", "type")
	if err := c.haOptions().check(changes, false); err != nil {
		return err
	}
	next := merged(r, changes)
	if err := c.haOptions().remove(next, c.params.List("delete")); err != nil {
		return err
	}
	c.state.HA.Resources[sid] = next
	return nil
}

func deleteHAResource(c *call) (any, error) {
	sid, _, _, err := c.parseSID(c.params.Str("sid"))
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
	s.haRecovers(sid)
	if !purge {
		return
	}
	for id, rule := range s.state.HA.Rules {
		left := newHARule(rule).resources
		delete(left, sid)
		if len(left) == 0 {
			delete(s.state.HA.Rules, id)
			continue
		}
		rule["resources"] = strings.Join(sortedKeys(left), ",")
	}
}

// moveHAResource asks the manager to move a resource to another node. It
// doesn't mind whether the node is there.
func moveHAResource(c *call) (any, error) {
	sid, _, name, err := c.parseSID(c.params.Str("sid"))
	if err != nil {
		return nil, err
	}
	if c.state.HA.Resources[sid] == nil || c.haWants(sid) == "ignored" {
		return nil, die("resource '%s' is not HA managed", sid)
	}
	node := c.nodeName(c.params.Str("node"))
	together, blocking := c.haTogether(sid), []map[string]any{}
	for _, other := range c.haApart(sid) {
		_, id, _ := strings.Cut(other, ":")
		if vm := c.state.VMs[atoi(id)]; vm != nil && vm.Node == node {
			blocking = append(blocking, map[string]any{"sid": other, "cause": "resource-affinity"})
		}
	}
	if len(blocking) == 0 && c.state.Nodes[node] != nil && c.haActive() {
		for _, id := range append([]string{name}, together...) {
			_, vmid, named := strings.Cut(id, ":")
			if !named {
				vmid = id
			}
			c.haMigrate(atoi(vmid), node)
		}
	}
	if !c.atLeast(9) {
		return nil, nil
	}
	out := map[string]any{"sid": sid, "requested-node": c.params.Str("node")}
	if c.haActive() && len(together) > 0 {
		out["comigrated-resources"] = together
	}
	if c.haActive() && len(blocking) > 0 {
		out["blocking-resources"] = blocking
	}
	return out, nil
}

// invalidRule is an exception with a code and texts by option.
func invalidRule(id string, errs map[string]string) *apiError {
	return &apiError{status: http.StatusBadRequest, text: "Rule '" + id + "' is invalid.\n", fields: errs, raised: true}
}
