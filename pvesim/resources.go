package pvesim

import (
	"maps"
	"slices"
	"time"
)

// nodeNames are the nodes of the cluster in the order of their names.
func (s *Sim) nodeNames() []string { return slices.Sorted(maps.Keys(s.state.Nodes)) }

// statusRound is what pvestatd broadcast last: figures that /cluster/resources
// and /nodes show. With a round time of zero it is always fresh.
type statusRound struct {
	vms      map[int]map[string]any
	nodes    map[string]map[string]any
	spaces   map[SpaceKey]spaceFigures
	reported map[string]time.Time // when each node last told its figures
}

// figuresKept is how long the cluster keeps the figures of a node that tells no
// more: until then it seems to be online.
const figuresKept = 5 * time.Minute

type spaceFigures struct{ used, total int64 }

// startStatusRounds runs pvestatd, when the world has rounds at all.
func (s *Sim) startStatusRounds() {
	period := s.world.Load.StatusRound.D()
	if period <= 0 {
		return
	}
	s.takeRound()
	s.workers.Add(1)
	go func() {
		defer s.workers.Done()
		for {
			due, stop := s.clock.After(period)
			select {
			case <-due:
				s.mu.Lock()
				s.takeRound()
				s.mu.Unlock()
			case <-s.closed:
				stop()
				return
			}
		}
	}()
}

func (s *Sim) takeRound() {
	r := &statusRound{
		vms: make(map[int]map[string]any, len(s.state.VMs)), nodes: map[string]map[string]any{}, spaces: map[SpaceKey]spaceFigures{},
		reported: map[string]time.Time{},
	}
	for name, n := range s.state.Nodes {
		switch {
		case n.State == Online:
			r.nodes[name], r.reported[name] = s.nodeFigures(n), s.now()
		case s.round != nil && s.now().Sub(s.round.reported[name]) <= figuresKept:
			r.nodes[name], r.reported[name] = s.round.nodes[name], s.round.reported[name]
		}
	}
	for id, vm := range s.state.VMs {
		if n := s.state.Nodes[vm.Node]; n != nil && n.State == Online {
			r.vms[id] = s.vmFigures(vm)
		} else if s.round != nil && r.nodes[vm.Node] != nil {
			r.vms[id] = s.round.vms[id]
		}
	}
	for key, sp := range s.state.Spaces {
		r.spaces[key] = spaceFigures{used: sp.Base + sp.Used, total: sp.Total}
	}
	s.round = r
}

// vmFigures are the figures of a guest that nodes tell each other.
func (s *Sim) vmFigures(vm *VM) map[string]any {
	st := s.vmStatus(vm, false)
	m := map[string]any{
		"template": 0, "maxcpu": st["cpus"], "diskread": 0, "diskwrite": 0,
	}
	for _, k := range []string{"uptime", "name", "status", "cpu", "maxmem", "mem", "maxdisk", "disk", "netin", "netout", "memhost"} {
		if v, ok := st[k]; ok {
			m[k] = v
		}
	}
	if vm.Template() {
		m["template"] = 1
	}
	return m
}

// nodeFigures are the figures of a node.
func (s *Sim) nodeFigures(n *Node) map[string]any {
	return map[string]any{
		"uptime": int(s.now().Sub(n.Booted) / time.Second), "cpu": 0.02, "maxcpu": n.CPUs,
		"mem": s.nodeMemory(n), "maxmem": n.Memory, "disk": n.Root / 4, "maxdisk": n.Root,
	}
}

// nodeMemory is what the host and its running guests use.
func (s *Sim) nodeMemory(n *Node) int64 {
	return min(n.Used+s.guests().memory[n.Name], n.Memory)
}

// vmResource is a guest in /cluster/resources. What comes from its config is
// fresh, what comes from the status round may be old or missing.
func (s *Sim) vmResource(vm *VM) map[string]any {
	var figures map[string]any
	switch {
	case s.round != nil:
		figures = s.round.vms[vm.ID]
	case s.state.Nodes[vm.Node].State == Online:
		figures = s.vmFigures(vm)
	}
	m := map[string]any{"status": "unknown"}
	maps.Copy(m, figures)
	m["id"], m["vmid"], m["node"], m["type"] = "qemu/"+itoa(vm.ID), vm.ID, vm.Node, "qemu"
	for _, k := range []string{"lock", "tags"} {
		if v := vm.Conf[k]; v != "" {
			m[k] = v
		}
	}
	if pool := s.poolOf(vm.ID); pool != "" {
		m["pool"] = pool
	}
	if r := s.state.HA.Resources[haID(vm.ID)]; r != nil {
		m["hastate"] = s.haState(vm)
		if state, ok := r["state"]; ok && m["hastate"] == nil {
			m["hastate"] = state
		}
	}
	return m
}

// nodeResource is a node in /cluster/resources and /nodes.
func (s *Sim) nodeResource(n *Node, audit bool) map[string]any {
	m := map[string]any{"id": "node/" + n.Name, "node": n.Name, "type": "node"}
	switch {
	case n.State == Offline:
		m["status"] = "offline"
		return m
	case !s.tells(n):
		m["status"] = "unknown"
		return m
	}
	m["status"], m["level"] = "online", ""
	if audit {
		var figures map[string]any
		if s.round != nil {
			figures = s.round.nodes[n.Name]
		} else {
			figures = s.nodeFigures(n)
		}
		maps.Copy(m, figures)
	}
	return m
}

// tells reports whether the cluster has figures of a node. Those of one that can't be
// reached are kept for a while.
func (s *Sim) tells(n *Node) bool {
	return n.State == Online || n.State == Unreachable && s.round != nil && s.round.nodes[n.Name] != nil
}

// storageResource is a storage on a node in /cluster/resources.
func (s *Sim) storageResource(st *Storage, node string) map[string]any {
	m := map[string]any{
		"id": "storage/" + node + "/" + st.ID, "storage": st.ID, "node": node, "type": "storage",
		"plugintype": st.Type, "status": "unknown", "shared": 0, "content": st.Conf["content"],
	}
	if st.Shared() {
		m["shared"] = 1
	}
	if n := s.state.Nodes[node]; n == nil || !s.tells(n) {
		return m
	}
	sp := s.space(st.ID, node)
	figures, known := spaceFigures{used: sp.Base + sp.Used, total: sp.Total}, true
	if s.round != nil {
		key := SpaceKey{Storage: st.ID, Node: node}
		if st.Shared() {
			key.Node = ""
		}
		figures, known = s.round.spaces[key]
	}
	if known {
		m["status"], m["disk"], m["maxdisk"] = "available", figures.used, figures.total
	}
	return m
}
