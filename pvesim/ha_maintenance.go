package pvesim

import (
	"cmp"
	"slices"
	"strings"
)

// A node in maintenance is one that the manager takes its resources away from: it has them back when
// that ends. Proxmox has no call of its API for it, only a command on the nodes.

// Maintenance does what "ha-manager crm-command node-maintenance enable|disable NODE" does.
func (h *Host) Maintenance(node string, on bool) error {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	return h.sim.maintenance(node, on)
}

// Maintenance puts a node into maintenance, or ends that.
func (s *Sim) Maintenance(node string, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maintenance(node, on)
}

func (s *Sim) maintenance(node string, on bool) error {
	n := s.state.Nodes[node]
	if n == nil {
		return die("no such cluster node '%s'", node)
	}
	notice := func() {
		if !s.haActive() || on && n.State != Online || on == s.state.HA.Maintenance[node] {
			return // the manager logs that, and leaves it at that
		}
		s.state.HA.Awake = true
		if s.state.HA.Maintenance == nil {
			s.state.HA.Maintenance, s.state.HA.Fallback = map[string]bool{}, map[string]string{}
		}
		if s.dirty(); on {
			s.state.HA.Maintenance[node] = true
			s.haLeaves(node)
			return
		}
		delete(s.state.HA.Maintenance, node)
		s.haReturns(node)
	}
	if round := s.world.Load.HARound.D(); round > 0 {
		s.later(round, func(*actor) { notice() })
		return nil
	}
	notice()
	return nil
}

// haLeaves moves the resources of a node that are to run to others, where they may be.
func (s *Sim) haLeaves(node string) {
	for _, sid := range sortedKeys(s.state.HA.Resources) {
		_, id, _ := strings.Cut(sid, ":")
		vm := s.state.VMs[atoi(id)]
		if vm == nil || vm.Node != node || s.haWants(sid) != "started" || s.state.HA.Failed[sid] {
			continue
		}
		s.state.HA.Fallback[sid] = node
		if to := s.haElsewhere(sid); to != "" {
			s.haMigrate(vm.ID, to)
		}
	}
}

// haReturns brings the resources back that left a node for its maintenance.
func (s *Sim) haReturns(node string) {
	for _, sid := range sortedKeys(s.state.HA.Fallback) {
		if s.state.HA.Fallback[sid] != node {
			continue
		}
		delete(s.state.HA.Fallback, sid)
		_, id, _ := strings.Cut(sid, ":")
		if vm := s.state.VMs[atoi(id)]; vm != nil && vm.Node != node && s.state.HA.Resources[sid] != nil {
			s.haMigrate(vm.ID, node)
		}
	}
}

// haElsewhere is the node that a resource goes to when it has to leave its own: one that its group or rule
// allows, with the fewest resources.
func (s *Sim) haElsewhere(sid string) string {
	allowed, strict := s.haNodesFor(sid)
	apart, count := map[string]bool{}, map[string]int{}
	for other := range s.state.HA.Resources {
		_, id, _ := strings.Cut(other, ":")
		if vm := s.state.VMs[atoi(id)]; vm != nil {
			count[vm.Node]++
			apart[vm.Node] = apart[vm.Node] || slices.Contains(s.haApart(sid), other)
		}
	}
	var good []string
	for _, name := range s.nodeNames() {
		_, in := allowed[name]
		if s.state.Nodes[name].State == Online && !s.state.HA.Maintenance[name] && !apart[name] && (in || !strict) {
			good = append(good, name)
		}
	}
	if len(good) == 0 {
		return ""
	}
	return slices.MinFunc(good, func(a, b string) int {
		return cmp.Or(cmp.Compare(rankIn(allowed, b), rankIn(allowed, a)), cmp.Compare(count[a], count[b]), strings.Compare(a, b))
	})
}

func rankIn(nodes map[string]int, node string) int {
	if rank, in := nodes[node]; in {
		return rank
	}
	return -1
}

// haNodesFor are the nodes that the group or rule of a resource names.
func (s *Sim) haNodesFor(sid string) (nodes map[string]int, strict bool) {
	if group := s.state.HA.Groups[s.state.HA.Resources[sid]["group"]]; group != nil {
		return newHARule(group).nodes, group["restricted"] == "1"
	}
	for _, id := range sortedKeys(s.state.HA.Rules) {
		if rule := newHARule(s.state.HA.Rules[id]); rule.kind == "node-affinity" && !rule.disabled && rule.resources[sid] {
			return rule.nodes, s.state.HA.Rules[id]["strict"] == "1"
		}
	}
	return nil, false
}

// haNodeState is the state in which the manager has a node.
func (s *Sim) haNodeState(node string, online bool) string {
	switch {
	case !online:
		return "unknown"
	case s.state.HA.Maintenance[node]:
		return "maintenance"
	}
	return "online"
}
