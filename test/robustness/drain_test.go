package robustness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// relocation is what a person asks for by the name of a node or of a machine.
type relocation struct {
	kind  kind
	node  string // that is drained or filled again, or that a machine is to go to
	nth   int    // of the machines that there are, to be moved
	crash int    // at which request the process crashes; 0: it doesn't
	at    moment
}

// relocate has a process for each set move machines, as drain, undrain and move of the command line do.
func (r *run) relocate(do relocation) {
	for _, s := range r.sets {
		want := r.toMove(s, do)
		if len(want.Moves) == 0 {
			continue
		}
		r.tells(do.kind)
		if do.kind == handDrain {
			r.watch.drains(do.node)
		}
		p := r.newProcess(s)
		if do.crash > 0 {
			p.wire.crashIn, p.wire.crashAt = do.crash, do.at
		}
		r.troubles.Go(func() {
			since := time.Now()
			rep, err := p.engine.Converge(p.ctx, want, engine.Options{Patience: patience, Events: p.tell})
			if p.ctx.Err() == nil {
				r.reported(p, rep, err)
				r.relocated(want, rep, since)
			}
			close(p.ended)
			p.end()
		})
	}
}

// toMove is what a command wants that moves machines of a set.
func (r *run) toMove(s *set, do relocation) model.Desired {
	known := s.want(r.h.weak)
	want := model.Desired{Set: known.Set, Door: known.Door, Range: known.Range, VMs: known.VMs, Moves: map[model.Key]model.Move{}, Seen: map[model.Key]bool{}}
	r.sim.Do(func(st *pvesim.State) {
		for n, id := range ours(st, s.name) {
			vm := st.VMs[id]
			_, m, _ := model.ParseDescription(vm.Conf["description"])
			move, asked := do.of(n, vm.Node, m)
			if node := st.Nodes[vm.Node]; !asked || node == nil || node.State != pvesim.Online {
				continue
			}
			if !slices.ContainsFunc(want.VMs, func(v model.VM) bool { return v.Owner == m.Owner }) {
				want.VMs = append(want.VMs, model.VM{Owner: m.Owner, Name: vm.Name(), VMID: id})
			}
			want.Moves[m.Owner.Key] = move
		}
	})
	for _, v := range want.VMs {
		if _, moves := want.Moves[v.Owner.Key]; !moves {
			want.Seen[v.Owner.Key] = true
		}
	}
	return want
}

// of is what is asked for of the nth machine, which is on a node.
func (do relocation) of(n int, on string, m model.Marker) (move model.Move, asked bool) {
	switch do.kind {
	case handDrain:
		return model.Move{From: on, Home: on, Why: "it is drained"}, on == do.node
	case handUndrain:
		if m.MovedSince(on) {
			return model.Move{From: on, To: on}, m.Home == do.node
		}
		return model.Move{From: on, To: do.node, Why: "it takes machines again"}, m.Home == do.node
	}
	return model.Move{From: on, To: do.node, Why: "requested"}, n == do.nth && on != do.node
}

// ours are the machines of a set whose markers and tags say so, by VMID. The neighbour's VM isn't one, whatever he writes:
// with a key `drain` leaves it where it is, see neighbour-marker.txtar, and without one it is shown by the plan, and nobody
// has it moved.
func ours(st *pvesim.State, set string) (ids []int) {
	for id, vm := range st.VMs {
		_, m, ok := model.ParseDescription(vm.Conf["description"])
		_, _, tagged := model.ParseStateTag(strings.Split(vm.Conf["tags"], ";"))
		if ok && tagged && m.Of(id) && m.Owner.Set == set && m.Owner.Kind != "VMImage" && !vm.Template() && id != neighbourVM {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// relocated checks that machines are where a command says that it has brought them, unless somebody has moved them on
// since it began.
func (r *run) relocated(want model.Desired, rep engine.Report, since time.Time) {
	r.sim.Do(func(st *pvesim.State) {
		for _, o := range rep.Objects {
			move, asked := want.Moves[o.Owner.Key]
			if !asked || o.State != engine.StateReady || move.From == move.To {
				continue
			}
			for _, id := range ours(st, want.Set) {
				vm := st.VMs[id]
				if _, m, _ := model.ParseDescription(vm.Conf["description"]); m.Owner != o.Owner || movesSince(st, id, since) > 1 {
					continue
				}
				if vm.Node == move.From {
					r.fail("%s was to leave %s and is said to be done, and VM %d is there", o.Owner.Key, move.From, id)
				}
			}
		}
	})
}

// underHA reports whether the HA manager looks after a machine.
func underHA(st *pvesim.State, id int) bool { return st.HA.Resources["vm:"+strconv.Itoa(id)] != nil }

// movesSince counts the tasks that have moved a machine.
func movesSince(st *pvesim.State, id int, since time.Time) (n int) {
	for _, list := range st.Tasks {
		for _, t := range list {
			if (t.Type == "qmigrate" || t.Type == "hamigrate") && t.ID == strconv.Itoa(id) && (t.End.IsZero() || !t.End.Before(since)) {
				n++
			}
		}
	}
	return n
}

// drains notes that a node is drained.
func (w *watch) drains(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drained[node] = true
}

// homes checks that machines come from nodes only that were drained.
func (w *watch) homes(s *pvesim.State) (wrong []string) {
	for id, vm := range s.VMs {
		if _, m, ok := model.ParseDescription(vm.Conf["description"]); ok && m.Of(id) && m.Home != "" && !w.drained[m.Home] {
			wrong = append(wrong, fmt.Sprintf("VM %d says that it comes from %s, which nobody has drained", id, m.Home))
		}
	}
	return wrong
}
