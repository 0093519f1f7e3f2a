package robustness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// watch looks at the simulator's own state all along: not at what we believe.
type watch struct {
	run *run

	mu      sync.Mutex
	others  map[int]string // machines that aren't ours, as they must stay
	guests  map[int]guest  // ours, at the last look
	initial map[string]int64
}

// guest is a machine of ours as it was last seen.
type guest struct {
	owner   model.Owner
	whole   bool // it was made to its end
	volumes []string
}

func newWatch(r *run) *watch {
	w := &watch{run: r, others: map[int]string{}, guests: map[int]guest{}}
	r.sim.Do(func(s *pvesim.State) {
		for id := range s.VMs {
			w.others[id] = portrait(s, id)
		}
		w.initial = volumesOf(s)
	})
	return w
}

// after looks when a request was answered.
func (w *watch) after(from *wire, e *entry) {
	if from.ours && e.write() {
		w.look()
	}
}

// look compares what is there with what was there.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wrong []string
	w.run.sim.Do(func(s *pvesim.State) {
		wrong = append(wrong, w.untouched(s)...)
		wrong = append(wrong, w.ours(s)...)
	})
	for _, text := range wrong {
		w.run.fail("%s", text)
	}
}

// untouched checks that machines of others are as they were.
func (w *watch) untouched(s *pvesim.State) (wrong []string) {
	for _, id := range slices.Sorted(maps.Keys(w.others)) {
		was, is := w.others[id], portrait(s, id)
		if was != is {
			wrong = append(wrong, fmt.Sprintf("VM %d, which isn't ours, was changed: %s", id, difference(was, is)))
			w.others[id] = is
		}
	}
	return wrong
}

// ours checks that there is at most one machine for each wish, and that no disk
// went that nobody wanted to go.
func (w *watch) ours(s *pvesim.State) (wrong []string) {
	now := map[int]guest{}
	owners := map[model.Owner][]int{}
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		vm := s.VMs[id]
		_, m, ok := model.ParseDescription(vm.Conf["description"])
		if !ok || w.others[id] != "" {
			continue
		}
		was := w.guests[id]
		lock := vm.Conf["lock"]
		g := guest{owner: m.Owner, volumes: diskVolumes(s, vm), whole: lock != "clone" && lock != "create" || was.whole && was.owner == m.Owner}
		now[id] = g
		owners[m.Owner] = append(owners[m.Owner], id)
	}
	for owner, ids := range owners {
		if len(ids) > 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d machines: %v", owner.Key, len(ids), ids))
		}
	}
	there := volumesOf(s)
	for _, id := range slices.Sorted(maps.Keys(w.guests)) {
		was := w.guests[id]
		if !was.whole {
			continue
		}
		for _, v := range was.volumes {
			if _, ok := there[v]; !ok && !w.mayLose(was.owner) {
				wrong = append(wrong, fmt.Sprintf("disk %s of VM %d (%s) was destroyed, and nobody wanted that", v, id, was.owner.Key))
			}
		}
	}
	w.guests = now
	return wrong
}

// mayLose tells whether somebody wants the owner's machine to go.
func (w *watch) mayLose(o model.Owner) bool {
	for _, s := range w.run.sets {
		if wish := s.byOwner(o); wish != nil {
			return s.mayGo(wish, time.Now())
		}
	}
	return false
}

// portrait is all of a machine that others must not change.
func portrait(s *pvesim.State, id int) string {
	vm := s.VMs[id]
	if vm == nil {
		return "gone"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "node %s\nrunning %t\n", vm.Node, vm.Run != nil)
	section := func(name string, c pvesim.Conf) {
		for _, k := range slices.Sorted(maps.Keys(c)) {
			fmt.Fprintf(&b, "%s%s: %s\n", name, k, c[k])
		}
	}
	section("", vm.Conf)
	section("pending ", vm.Pending)
	for _, name := range slices.Sorted(maps.Keys(vm.Snaps)) {
		section("snapshot "+name+" ", vm.Snaps[name].Conf)
	}
	for _, k := range slices.Sorted(maps.Keys(vm.Deletes)) {
		fmt.Fprintf(&b, "delete %s\n", k)
	}
	for key, sp := range s.Spaces {
		_ = key
		for _, name := range slices.Sorted(maps.Keys(sp.Volumes)) {
			if v := sp.Volumes[name]; v.VMID == id {
				fmt.Fprintf(&b, "volume %s %d\n", name, v.Size)
			}
		}
	}
	return b.String()
}

// difference shows the lines that differ.
func difference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	var out []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, "-"+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out = append(out, "+"+line)
		}
	}
	return strings.Join(out, " ")
}

// volumesOf lists all volumes with their sizes.
func volumesOf(s *pvesim.State) map[string]int64 {
	out := map[string]int64{}
	for key, sp := range s.Spaces {
		for name, v := range sp.Volumes {
			out[key.Node+"/"+key.Storage+":"+name] = v.Size
		}
	}
	return out
}

// diskVolumes are the volumes with data that a machine's config names.
func diskVolumes(s *pvesim.State, vm *pvesim.VM) []string {
	var out []string
	for key, sp := range s.Spaces {
		if key.Node != "" && key.Node != vm.Node {
			continue
		}
		for name, v := range sp.Volumes {
			if v.VMID != vm.ID || strings.Contains(name, "cloudinit") || strings.Contains(name, "-state-") {
				continue
			}
			base := name[strings.LastIndex(name, "/")+1:]
			for k, value := range vm.Conf {
				if !strings.HasPrefix(k, "unused") && strings.HasPrefix(value, key.Storage+":") && strings.Contains(value, base) {
					out = append(out, key.Node+"/"+key.Storage+":"+name)
					break
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
