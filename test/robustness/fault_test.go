package robustness

import (
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// later undoes something after a while, or at the end of the troubles if that
// comes first.
func (r *run) later(d time.Duration, undo func()) {
	r.troubles.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.over:
		}
		undo()
	})
}

// fault makes the simulator misbehave for a while.
func (r *run) fault(f pvesim.Fault, d time.Duration) {
	id, err := r.sim.AddFault(f)
	if err != nil {
		panic(err)
	}
	r.later(d, func() { r.sim.RemoveFault(id) })
}

// refuse lets nobody listen for a while.
func (r *run) refuse(d time.Duration) {
	r.mu.Lock()
	r.deaf++
	r.mu.Unlock()
	r.later(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.deaf--
	})
}

func (r *run) isDeaf() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deaf > 0
}

// fill leaves no room on a storage for a while.
func (r *run) fill(storage string, d time.Duration) {
	taken := map[pvesim.SpaceKey]int64{}
	r.sim.Do(func(s *pvesim.State) {
		for key, sp := range s.Spaces {
			if key.Storage == storage {
				taken[key] = sp.Free()
				sp.Base += taken[key]
			}
		}
	})
	r.later(d, func() {
		r.sim.Do(func(s *pvesim.State) {
			for key, n := range taken {
				s.Spaces[key].Base -= n
			}
		})
	})
}

// lose takes a node away for a while.
func (r *run) lose(node string, state pvesim.NodeState, d time.Duration) {
	set := func(to pvesim.NodeState) {
		r.sim.Do(func(s *pvesim.State) { s.Nodes[node].State = to })
	}
	set(state)
	r.later(d, func() { set(pvesim.Online) })
}

// lockOut revokes our credentials for a while.
func (r *run) lockOut(d time.Duration) {
	r.mu.Lock()
	first := r.out == 0
	r.out++
	r.mu.Unlock()
	if first {
		r.sim.Do(func(s *pvesim.State) {
			u := s.Access.Users["root@pam"]
			if r.h.world.password {
				u.Password = "changed"
			} else {
				delete(u.Tokens, "us")
			}
		})
	}
	r.later(d, func() {
		r.mu.Lock()
		r.out--
		last := r.out == 0
		r.mu.Unlock()
		if last {
			r.sim.Do(func(s *pvesim.State) {
				u := s.Access.Users["root@pam"]
				u.Password = ourPassword
				u.Tokens["us"] = &pvesim.Token{Secret: ourSecret}
			})
		}
	})
}
