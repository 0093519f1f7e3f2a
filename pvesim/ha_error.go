package pvesim

import "strings"

// A resource that the manager can't start, or whose VM isn't where it was, gets into the
// state error. It isn't touched any more then, whatever is asked of it, until it is disabled
// or removed for as long as the manager takes to notice.

// haMisses has the manager notice that the VM of a resource is gone: its agent on the VM's
// node says that the resource isn't there, and so does the move to another node that it
// tries then. A VM of that number on the same node is in time until then.
func (s *Sim) haMisses(sid, node string) {
	if !s.haActive() {
		return
	}
	s.later(2*haPeriod, func(*actor) {
		_, name, _ := strings.Cut(sid, ":")
		vm := s.state.VMs[atoi(name)]
		switch {
		case s.state.HA.Resources[sid] == nil || s.haWants(sid) != "started" || s.state.HA.Failed[sid]:
		case vm == nil || node != "" && vm.Node != node:
			s.haGivesUp(sid)
		default:
			s.haActs(sid)
		}
	})
}

// haGivesUp has the manager leave a resource to people.
func (s *Sim) haGivesUp(sid string) {
	if s.state.HA.Failed == nil {
		s.state.HA.Failed = map[string]bool{}
	}
	s.state.HA.Failed[sid] = true
	s.dirty()
}

// haRecovers has the manager notice, in its next round, that a resource which it has given
// up is disabled, ignored or removed: that is the way out of the state error. It stops only what is disabled.
func (s *Sim) haRecovers(sid string) {
	if !s.state.HA.Failed[sid] {
		return
	}
	notice := func() {
		want := s.haWants(sid)
		if r := s.state.HA.Resources[sid]; s.state.HA.Failed[sid] && (r == nil || want == "disabled" || want == "ignored") {
			delete(s.state.HA.Failed, sid)
			s.dirty()
			if want == "disabled" {
				s.haStops(sid, haPatience)
			}
		}
	}
	round := s.world.Load.HARound.D()
	if round <= 0 {
		notice()
		return
	}
	s.later(round, func(*actor) { notice() })
}
