package pvesim

import (
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// haActive reports whether the manager works: it needs a cluster. Alone, a
// node's manager waits for its watchdog and leaves everything queued.
func (s *Sim) haActive() bool { return s.state.Cluster != "" && len(s.state.Nodes) > 2 }

// haNodes is how many nodes the manager knows; none before it has worked.
func (s *Sim) haNodes() int {
	if !s.haActive() {
		return 0
	}
	return len(s.state.Nodes)
}

// addHA makes a resource of the manager.
func (s *Sim) addHA(sid string, options map[string]string) {
	s.state.HA.Resources[sid] = options
	if s.haActive() {
		s.state.HA.Awake = true
	}
	s.dirty()
	round := s.world.Load.HARound.D()
	if round <= 0 || !s.haActive() {
		s.haActs(sid)
		return
	}
	s.haNew[sid] = true
	s.later(round, func(*actor) {
		delete(s.haNew, sid)
		if s.state.HA.Resources[sid] != nil {
			s.haActs(sid)
		}
	})
}

// haActs lets the manager do what was asked of a resource: start what should
// run, stop what shouldn't. It works through tasks of its own.
func (s *Sim) haActs(sid string) {
	_, name, _ := strings.Cut(sid, ":")
	vm := s.state.VMs[atoi(name)]
	switch {
	case s.state.HA.Failed[sid]:
		s.haRecovers(sid)
		return
	case vm == nil && s.state.HA.Resources[sid] != nil:
		s.haMisses(sid, "")
		return
	case vm == nil || !s.haActive() || s.state.Nodes[vm.Node].State != Online:
		return
	}
	switch s.haWants(sid) {
	case "started":
		if vm.Run == nil {
			s.haStarts(vm)
			s.haLooksAfter(vm.ID, haTries)
		}
	case "stopped", "disabled":
		s.haStops(sid, haPatience)
	}
}

const (
	haPeriod = 10 * time.Second // between two looks of the manager
	haTries  = 3                // to start something again, before it is left to people
)

// haLooksAfter has the manager look at a VM that isn't running: it starts what
// should be.
func (s *Sim) haLooksAfter(vmid, tries int) {
	sid := haID(vmid)
	if s.state.HA.Resources[sid] == nil || !s.haActive() {
		return
	}
	s.later(haPeriod, func(*actor) {
		vm := s.state.VMs[vmid]
		if vm == nil || vm.Run != nil || s.state.HA.Resources[sid] == nil || s.haWants(sid) != "started" || s.state.HA.Failed[sid] {
			return
		}
		switch {
		case vm.Conf["lock"] != "" || s.state.Nodes[vm.Node].State != Online || s.starting(vm):
			s.haLooksAfter(vmid, tries)
		case tries == 0:
			s.haGivesUp(sid)
		default:
			s.haStarts(vm)
			s.haLooksAfter(vmid, tries-1)
		}
	})
}

// starting reports whether a task is about to start a VM. The manager's agent on the node waits for its own, which may
// wait for the lock of the config.
func (s *Sim) starting(vm *VM) bool {
	return slices.ContainsFunc(s.state.Tasks[vm.Node], func(t *TaskInfo) bool {
		return t.Running() && t.Type == "qmstart" && t.ID == itoa(vm.ID)
	})
}

// haStarts has the manager start a VM.
func (s *Sim) haStarts(vm *VM) {
	node, id := vm.Node, vm.ID
	s.fork(node, "qmstart", itoa(id), &access.Identity{User: access.Root}, func(t *task) error { return t.startVM(node, id, startOptions{}) })
}

// haPatience is how many seconds a guest gets to shut down.
const haPatience = 60

// haStops lets the manager stop a VM, at once or when its guest didn't shut
// down within so many seconds.
func (s *Sim) haStops(sid string, seconds int) {
	_, name, _ := strings.Cut(sid, ":")
	vm := s.state.VMs[atoi(name)]
	if vm == nil || vm.Run == nil || !s.haActive() || s.state.Nodes[vm.Node].State != Online {
		return
	}
	node, id, kind, options := vm.Node, vm.ID, "qmstop", stopOptions{force: true}
	if seconds > 0 {
		kind, options = "qmshutdown", stopOptions{shutdown: true, force: true, timeout: &seconds}
	}
	s.fork(node, kind, name, &access.Identity{User: access.Root}, func(t *task) error { return t.stopVM(node, id, options) })
}

// haWants is the state that is asked of a resource.
func (s *Sim) haWants(sid string) string {
	switch want := s.state.HA.Resources[sid]["state"]; want {
	case "", "enabled":
		return "started"
	default:
		return want
	}
}

// haState is the state in which the manager has a VM; nil if it isn't at
// work.
func (s *Sim) haState(vm *VM) any {
	if !s.haActive() || s.haNew[haID(vm.ID)] && !s.state.HA.Failed[haID(vm.ID)] {
		return nil
	}
	switch want := s.haWants(haID(vm.ID)); {
	case want != "ignored" && s.state.HA.Failed[haID(vm.ID)]:
		return "error"
	case want == "ignored":
		return nil
	case want == "started":
		return "started"
	case vm.Run != nil:
		return "request_stop"
	}
	return "stopped"
}

// haShown is how the manager's status words the state of a resource.
func (s *Sim) haShown(sid string) string {
	_, name, _ := strings.Cut(sid, ":")
	vm, want := s.state.VMs[atoi(name)], s.haWants(sid)
	switch {
	case want == "ignored":
		return want
	case vm == nil:
		return "not found"
	case !s.haActive():
		return "queued"
	case s.state.HA.Failed[sid]:
		return "error"
	case want == "started" && vm.Run == nil:
		return "starting"
	case want == "started":
		return want
	case vm.Run != nil:
		return "request_stop"
	}
	return want
}

// haTogether lists the resources that rules keep on one node with a resource,
// haApart those that they keep off its node.
func (s *Sim) haTogether(sid string) []string { return s.haAffine(sid, "positive") }
func (s *Sim) haApart(sid string) []string    { return s.haAffine(sid, "negative") }

func (s *Sim) haAffine(sid, affinity string) []string {
	others := map[string]bool{}
	for id := range s.ruleErrors(nil).feasible(s.state.HA.Rules) {
		rule := newHARule(s.state.HA.Rules[id])
		if rule.affinity != affinity || rule.disabled || !rule.resources[sid] {
			continue
		}
		for other := range rule.resources {
			if other != sid && s.haWants(other) != "ignored" {
				others[other] = true
			}
		}
	}
	return sortedKeys(others)
}
