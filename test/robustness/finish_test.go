package robustness

import (
	"context"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/pvesim"
)

// finish lets the troubles end and checks that all comes to rest as wanted.
func (r *run) finish() {
	r.sim.RemoveFault(0)
	r.trace.say("", "— the troubles are over")
	r.settle()
	r.stopAll()
	r.quiet()
	r.watch.look()
	for _, s := range r.sets {
		r.converged(s)
		if r.isBroken() {
			return
		}
		r.asWanted(s)
	}
	r.watch.look()
	if r.isBroken() {
		return
	}
	for _, s := range r.sets {
		s.change(func() {
			for _, w := range s.vms {
				w.Deleted = true
			}
		})
		r.trace.say("", "— all is to go")
		r.converged(s)
	}
	r.quiet()
	r.watch.look()
	if !r.isBroken() {
		r.nothingLeft()
	}
}

// quiet waits until no task runs.
func (r *run) quiet() {
	running := func() (n int) {
		r.sim.Do(func(s *pvesim.State) {
			for _, list := range s.Tasks {
				for _, t := range list {
					if t.Running() {
						n++
					}
				}
			}
		})
		return n
	}
	for range 900 {
		if running() == 0 {
			return
		}
		time.Sleep(time.Second)
	}
	r.fail("tasks are running on and on")
}

// most turns that a new process may need when all is well.
const mostTurns = 3

// converged has a process that knows nothing make all as wanted.
func (r *run) converged(s *set) {
	p := r.newProcess(s)
	var rep engine.Report
	var err error
	for range mostTurns {
		rep, err = p.converge(context.Background())
		if err == nil && rep.Converged() {
			return
		}
		time.Sleep(10 * time.Second)
	}
	if err != nil {
		r.fail("it can't be made as wanted: %v", err)
	}
	for _, o := range rep.Objects {
		if o.State != engine.StateReady && o.State != engine.StateGone {
			r.fail("%s is %s in the end: %s", o.Owner.Key, o.State, o.Text)
		}
	}
}

// asWanted compares what the simulator has with what is wanted.
func (r *run) asWanted(s *set) {
	r.sim.Do(func(st *pvesim.State) {
		for _, w := range s.vms {
			var ids []int
			for id, g := range r.watch.guests {
				if g.owner == w.Owner {
					ids = append(ids, id)
				}
			}
			want := 1
			if w.Deleted || w.unnamed {
				want = 0
			}
			if len(ids) != want {
				r.fail("%s should have %d machines and has %v", w.Owner.Key, want, ids)
				continue
			}
			if want == 1 {
				for _, wrong := range w.compare(st, st.VMs[ids[0]]) {
					r.fail("%s (VM %d): %s", w.Owner.Key, ids[0], wrong)
				}
			}
		}
	})
}

func (w *wish) compare(s *pvesim.State, vm *pvesim.VM) (wrong []string) {
	return nil
}

// nothingLeft checks that only what was there at the beginning is.
func (r *run) nothingLeft() {
	r.sim.Do(func(s *pvesim.State) {
		for id := range s.VMs {
			if _, ok := r.watch.others[id]; !ok {
				r.fail("VM %d is left behind", id)
			}
		}
		for v := range volumesOf(s) {
			if _, ok := r.watch.initial[v]; !ok {
				r.fail("volume %s is left behind", v)
			}
		}
	})
}
