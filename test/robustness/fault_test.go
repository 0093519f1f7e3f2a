package robustness

import (
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/access"
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

// hit notes that a request met with something.
func (r *run) hit(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hits[what]++
}

// hitsSince counts how often requests meet with something from now on.
func (r *run) hitsSince(what string) func() int {
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.hits[what]
	}
	was := count()
	return func() int { return count() - was }
}

// fault makes the simulator misbehave for a while.
func (r *run) fault(k kind, f pvesim.Fault, d time.Duration) {
	id, err := r.sim.AddFault(f)
	if err != nil {
		panic(err)
	}
	r.later(d, func() {
		for _, f := range r.sim.Faults() {
			if f.ID == id && f.Struck > 0 {
				r.tells(k)
			}
		}
		r.sim.RemoveFault(id)
	})
}

// refuse lets nobody listen for a while.
func (r *run) refuse(d time.Duration) {
	hits := r.hitsSince("refused")
	r.mu.Lock()
	r.deaf++
	r.mu.Unlock()
	r.later(d, func() {
		r.mu.Lock()
		r.deaf--
		r.mu.Unlock()
		if hits() > 0 {
			r.tells(faultRefused)
		}
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
	begun, hits := r.sim.Now(), r.hitsSince("full")
	r.sim.Do(func(s *pvesim.State) {
		for key, sp := range s.Spaces {
			if key.Storage == storage {
				taken[key] = sp.Free()
				sp.Base += taken[key]
			}
		}
	})
	r.later(d, func() {
		felt := false
		r.sim.Do(func(s *pvesim.State) {
			for key, n := range taken {
				s.Spaces[key].Base -= n
			}
			for _, list := range s.Tasks {
				for _, t := range list {
					felt = felt || t.Start.After(begun) && noRoom(t.Exit+strings.Join(t.Log, "\n"))
				}
			}
		})
		if felt || hits() > 0 {
			r.tells(faultFull)
		}
	})
}

// noRoom reports whether something failed for want of room.
func noRoom(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "no space left") || strings.Contains(text, "free space") || strings.Contains(text, "out of space")
}

// lose takes a node away for a while.
func (r *run) lose(k kind, node string, state pvesim.NodeState, d time.Duration) {
	set := func(to pvesim.NodeState) {
		r.sim.Do(func(s *pvesim.State) { s.Nodes[node].State = to })
	}
	set(state)
	hits, lists := r.hitsSince("595"), r.hitsSince("list")
	r.later(d, func() {
		set(pvesim.Online)
		if hits() > 0 || state == pvesim.Offline && lists() > 0 {
			r.tells(k)
		}
	})
}

// comeBack lets nodes come back that were lost at a request.
func (r *run) comeBack() {
	r.sim.Do(func(s *pvesim.State) {
		for _, n := range s.Nodes {
			n.State = pvesim.Online
		}
	})
}

// expire makes tickets too old all of a sudden.
func (r *run) expire() {
	r.sim.Advance(2*time.Hour + time.Minute)
	hits := r.hitsSince("401")
	r.later(10*time.Minute, func() {
		if hits() > 0 {
			r.tells(faultExpired)
		}
	})
}

// lockOut revokes our credentials for a while.
func (r *run) lockOut(k kind, d time.Duration) {
	hits := r.hitsSince("401")
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
	if r.h.world.password {
		r.sim.Advance(2*time.Hour + time.Minute) // until then the ticket is as good as the password was
	}
	r.later(d, func() {
		if hits() > 0 {
			r.tells(k)
		}
		r.mu.Lock()
		r.out--
		last := r.out == 0
		r.mu.Unlock()
		if last {
			r.sim.Do(func(s *pvesim.State) {
				u := s.Access.Users["root@pam"]
				u.Password = ourPassword
				u.Tokens["us"] = &access.Token{Secret: ourSecret}
			})
		}
	})
}
