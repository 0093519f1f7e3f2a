package pvesim

import (
	"fmt"
	"strings"
	"time"
)

func haStatus(c *call) (any, error) {
	quorum := map[string]any{"id": "quorum", "type": "quorum", "node": c.entry, "status": "OK", "quorate": 1}
	if !c.quorate() {
		quorum["status"], quorum["quorate"] = "No quorum on node '"+c.entry+"'!", 0
	}
	list := []map[string]any{quorum}
	master, active := c.entry, c.state.HA.Awake && len(c.state.HA.Resources) > 0
	if c.state.HA.Awake {
		state := "idle"
		if active {
			state = "active"
		}
		list = append(list, map[string]any{
			"id": "master", "type": "master", "node": master, "timestamp": c.now().Unix(),
			"status": fmt.Sprintf("%s (%s, %s)", master, state, c.now().UTC().Format(time.ANSIC)),
		})
	}
	if c.atLeast(9) {
		state, watchdog := "standby", "CRM watchdog standby"
		if active {
			state, watchdog = "armed", "CRM watchdog active"
		}
		list = append(list, map[string]any{
			"id": "fencing", "type": "fencing", "node": master, "armed-state": state,
			"status": fmt.Sprintf("%s (%s)", state, watchdog),
		})
	}
	if c.state.HA.Awake {
		for _, name := range c.nodeNames() {
			list = append(list, c.haNodeStatus(name))
		}
	}
	for _, sid := range sortedKeys(c.state.HA.Resources) {
		list = append(list, c.haServiceStatus(sid))
	}
	return list, nil
}

// haNodeStatus is the local manager of a node.
func (c *call) haNodeStatus(node string) map[string]any {
	seen, state, watchdog := c.now(), "idle", "watchdog standby"
	if c.haBusy(node) {
		state, watchdog = "active", "watchdog active"
	}
	if c.state.Nodes[node].State != Online {
		seen, state, watchdog = c.state.Nodes[node].Booted, "old timestamp - dead?", "watchdog standby"
	}
	if c.haNodeState(node, c.state.Nodes[node].State == Online) == "maintenance" {
		state = "maintenance mode"
	}
	if c.atLeast(9) {
		state += ", " + watchdog
	}
	return map[string]any{
		"id": "lrm:" + node, "type": "lrm", "node": node, "timestamp": seen.Unix(),
		"status": fmt.Sprintf("%s (%s, %s)", node, state, seen.UTC().Format(time.ANSIC)),
	}
}

// haServiceStatus is a resource as the manager sees it.
func (c *call) haServiceStatus(sid string) map[string]any {
	r := c.state.HA.Resources[sid]
	m := map[string]any{
		"id": "service:" + sid, "type": "service", "sid": sid, "state": c.haShown(sid),
		"max_relocate": atoiOr(r["max_relocate"], 1), "max_restart": atoiOr(r["max_restart"], 1),
		"request_state": c.haWants(sid), "node": nil,
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
		if state := c.haState(vm); state != nil {
			m["crm_state"] = state
		}
	}
	m["status"] = fmt.Sprintf("%s (%s, %s)", sid, strAny(m["node"]), m["state"])
	return m
}

// haManagerStatus is what the manager keeps: nothing before it has worked.
func haManagerStatus(c *call) (any, error) {
	quorate := "" // as Perl writes false
	if c.quorate() {
		quorate = "1"
	}
	manager := map[string]any{}
	out := map[string]any{"manager_status": manager, "quorum": map[string]any{"node": c.entry, "quorate": quorate}}
	if !c.state.HA.Awake {
		return out, nil
	}
	services, nodes, local := map[string]any{}, map[string]any{}, map[string]any{}
	for _, name := range c.nodeNames() {
		nodes[name] = c.haNodeState(name, c.state.Nodes[name].State == Online)
		mode := "active"
		if nodes[name] == "maintenance" {
			mode = "maintenance"
		}
		local[name] = map[string]any{
			"mode": mode, "state": c.haLocalState(name), "timestamp": c.now().Unix(), "results": map[string]any{},
		}
	}
	for sid := range c.state.HA.Resources {
		_, id, _ := strings.Cut(sid, ":")
		if vm := c.state.VMs[atoi(id)]; vm != nil && c.haState(vm) != nil {
			services[sid] = map[string]any{"node": vm.Node, "state": c.haState(vm), "uid": c.uuid("ha", sid)[:22]}
		}
	}
	manager["master_node"], manager["timestamp"] = c.entry, c.now().Unix()
	manager["node_status"], manager["service_status"] = nodes, services
	out["lrm_status"] = local
	return out, nil
}

// haLocalState is what a node's manager is at.
func (c *call) haLocalState(node string) string {
	if c.haBusy(node) {
		return "active"
	}
	return "wait_for_agent_lock"
}

// haBusy reports whether a node has resources of the manager.
func (c *call) haBusy(node string) bool {
	for sid := range c.state.HA.Resources {
		_, id, _ := strings.Cut(sid, ":")
		if vm := c.state.VMs[atoi(id)]; vm != nil && vm.Node == node && c.haWants(sid) != "ignored" {
			return true
		}
	}
	return false
}
