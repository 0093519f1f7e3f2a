package robustness

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// finish lets the troubles end and checks that all comes to rest up to date, that
// it stays so without a further change, and that all of it can go again.
func (r *run) finish() {
	r.trace.say("", "— the troubles are over")
	r.calm()
	r.others.disown()
	r.settle()
	r.stopAll()
	r.quiet()
	r.comeBack() // what was asked for late may have lost a node once more
	r.others.unlockStuck()
	r.watch.look()
	time.Sleep(2 * time.Minute) // what a task has left is its process' to remove for that long
	for _, s := range r.sets {
		r.converged(s)
	}
	r.quiet()
	r.watch.look()
	if r.isBroken() {
		return
	}
	for _, s := range r.sets {
		r.asWanted(s)
		r.imagesAsWanted(s)
	}
	r.tidy()
	r.stays()
	if r.isBroken() {
		return
	}
	r.trace.say("", "— all is to go")
	for _, s := range r.sets {
		s.change(func() {
			for _, w := range s.vms {
				w.Deleted = true
			}
			for _, w := range s.snaps {
				w.Deleted = true
			}
		})
		r.converged(s)
	}
	r.imagesGo()
	r.quiet()
	r.watch.look()
	if !r.isBroken() {
		r.nothingLeft()
		r.tidy()
	}
}

// quiet waits until no request is worked on and no task runs.
func (r *run) quiet() {
	r.flights.Wait()
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

// Most turns and time that a new process may need when all is well.
const (
	mostTurns = 3
	mostTime  = 30 * time.Minute
)

// converged has a process that knows nothing bring everything up to date, or say why it
// can't.
func (r *run) converged(s *set) {
	p := r.newProcess(s)
	start := time.Now()
	ctx, cancel := context.WithTimeout(p.ctx, mostTime)
	defer cancel()
	// What others have changed isn't all in the lists.
	if _, err := p.engine.Plan(ctx, s.want(r.h.weak)); err != nil {
		r.fail("set %s can't be planned: %v", s.name, err)
	}
	for turn := 1; ; turn++ {
		rep, err := p.converge(ctx)
		wrong := r.unexcused(s, rep)
		switch {
		case err == nil && len(wrong) == 0:
			return
		case turn < mostTurns && time.Since(start) < mostTime:
			time.Sleep(20 * time.Second)
			continue
		case err != nil:
			r.fail("set %s can't be made up to date: %v", s.name, err)
		}
		for _, text := range wrong {
			r.fail("%s", text)
		}
		return
	}
}

// unexcused are the objects that aren't up to date, though they could be.
func (r *run) unexcused(s *set, rep engine.Report) (wrong []string) {
	for _, o := range rep.Objects {
		if o.State != engine.StateReady && o.State != engine.StateGone && !r.excused(s, o) {
			wrong = append(wrong, o.Owner.Key.String()+" of set "+s.name+" is "+string(o.State)+" in the end: "+o.Text)
		}
	}
	return wrong
}

// stays has another new process look: it must find nothing to change.
func (r *run) stays() {
	for _, s := range r.sets {
		time.Sleep(time.Minute)
		p := r.newProcess(s)
		ctx, cancel := context.WithTimeout(p.ctx, mostTime)
		if _, err := p.converge(ctx); err != nil {
			r.fail("set %s can't be looked at: %v", s.name, err)
		}
		cancel()
		n := r.trace.count(func(e *entry) bool { return e.who == p.name && e.write() && !strings.HasPrefix(e.path, "/access/") })
		if n > 0 && !r.futile {
			r.fail("%d changes were made to set %s though nothing was to be done", n, s.name)
		}
		left, err := p.engine.Plan(context.Background(), s.want(r.h.weak))
		if err != nil {
			r.fail("set %s can't be planned: %v", s.name, err)
		}
		if slices.ContainsFunc(left.Objects, func(o plan.Object) bool { return len(o.Next()) > 0 && !r.awaits(s, o) }) {
			r.fail("a deep look at set %s finds something to do:\n%s", s.name, left)
		}
		r.Write([]byte(left.String()))
	}
}

// awaits reports whether an object is a snapshot of a machine whose agent says nothing:
// plans, which don't wait for agents, show it, and it is taken when one does.
func (r *run) awaits(s *set, o plan.Object) bool {
	snap := s.snap(o.Owner.Name)
	return o.Owner.Kind == "VMSnapshot" && snap != nil && r.unheard[s.owner("VirtualMachine", snap.VM.Name)]
}

// asWanted compares what the simulator has with what is wanted.
func (r *run) asWanted(s *set) {
	var wrong []string
	r.sim.Do(func(st *pvesim.State) {
		for _, w := range s.vms {
			ids := owned(st)[w.Owner]
			switch {
			case len(ids) > 1:
				wrong = append(wrong, w.Owner.Key.String()+" has several machines")
			case w.Deleted || w.unnamed && s.prune:
				hidden := len(ids) > 0 && w.unnamed && untagged(st.VMs[ids[0]])
				r.futile = r.futile || hidden // somebody may find it yet
				if len(ids) > 0 && !r.excuses[w.Owner] && !hidden {
					wrong = append(wrong, w.Owner.Key.String()+" should be gone")
				}
			case w.unnamed:
			case len(ids) == 0:
				if !r.excuses[w.Owner] {
					wrong = append(wrong, w.Owner.Key.String()+" isn't there")
				}
			default:
				for _, text := range w.compare(st, st.VMs[ids[0]]) {
					if !r.excuses[w.Owner] {
						wrong = append(wrong, w.Owner.Key.String()+": "+text)
					}
				}
			}
		}
	})
	for _, text := range wrong {
		r.fail("set %s: %s", s.name, text)
	}
}

// owned are the machines that say whose they are, without that of the neighbour, who may
// say anything.
func owned(st *pvesim.State) map[model.Owner][]int {
	all := inspect.Owned(st)
	for owner, ids := range all {
		all[owner] = slices.DeleteFunc(ids, func(id int) bool { return id == neighbourVM })
	}
	return all
}

// nothingLeft checks that no machine of ours is there any more. What was
// retained has no marks.
func (r *run) nothingLeft() {
	r.sim.Do(func(st *pvesim.State) {
		for _, id := range slices.Sorted(maps.Keys(st.VMs)) {
			_, m, marked := model.ParseDescription(st.VMs[id].Conf["description"])
			_, theirs := r.watch.others[id]
			if theirs || marked && r.excuses[m.Owner] || halfMade(st.VMs[id]) || marked && r.imageStays(st, id, m.Owner) {
				continue
			}
			if _, w := r.wishOf(m.Owner); w != nil && w.unnamed && untagged(st.VMs[id]) {
				continue
			}
			if marked || !r.retained(st.VMs[id].Name()) {
				defer r.fail("VM %d is left behind", id)
			}
		}
	})
}

// untagged reports whether others have taken our tags off a machine. While it runs,
// nothing that lists show tells then that it may be ours: whoever prunes doesn't
// read the configs of all machines of the cluster.
func untagged(vm *pvesim.VM) bool {
	return vm.Run != nil && !strings.Contains(vm.Conf["tags"], model.Tag) && !strings.Contains(vm.Conf["tags"], model.TagPrefix)
}
