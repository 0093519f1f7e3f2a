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
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// watch looks at the simulator's own state all along: not at what we believe.
type watch struct {
	run *run

	mu      sync.Mutex
	others  map[int]string // machines that aren't ours, as they must stay
	guests  map[int]guest  // ours, at the last look
	initial map[string]pvesim.Volume
	reverts map[string]int    // how often a machine was rolled back for one wish
	leased  map[string]string // addresses that machines ran with, by their smbios1
	drained map[string]bool   // nodes that were drained
	// removed are disks whose removal we have asked for while nobody wanted them, and when: it is carried out though they are wanted again.
	removed map[string]time.Time

	reading sync.Mutex
	markers map[string]marker // by the description that they were read from
}

// marker is what a description says of whose a machine is.
type marker struct {
	model.Marker
	ok bool
}

// marker reads a description, or remembers what it says: most have been read many times.
func (w *watch) marker(description string) (model.Marker, bool) {
	w.reading.Lock()
	defer w.reading.Unlock()
	m, known := w.markers[description]
	if !known {
		_, m.Marker, m.ok = model.ParseDescription(description)
		w.markers[description] = m
	}
	return m.Marker, m.ok
}

// guest is a machine of ours as it was last seen.
type guest struct {
	owner   model.Owner
	whole   bool              // it was made to its end
	volumes map[string]string // its disks: slot by volume
}

func newWatch(r *run) *watch {
	w := &watch{run: r, others: map[int]string{}, guests: map[int]guest{}, reverts: map[string]int{}, leased: map[string]string{}, drained: map[string]bool{}, removed: map[string]time.Time{}, markers: map[string]marker{}}
	r.sim.Do(func(s *pvesim.State) {
		for id := range s.VMs {
			w.others[id] = inspect.Portrait(s, id)
		}
		w.initial = inspect.Volumes(s)
	})
	return w
}

// adopt counts a machine among those of others, once what we had begun is over.
func (w *watch) adopt(id int) {
	for range 3000 {
		busy := false
		w.run.sim.Do(func(s *pvesim.State) { busy = working(s, id) })
		if !busy && !w.run.trace.underWay(id) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run.sim.Do(func(s *pvesim.State) {
		if s.VMs[id] != nil {
			w.others[id] = inspect.Portrait(s, id)
			delete(w.guests, id)
		}
	})
}

// release forgets a machine of others, which they are about to change; false: it isn't one.
func (w *watch) release(id int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, theirs := w.others[id]
	delete(w.others, id)
	return theirs
}

// after looks when a request was answered.
func (w *watch) after(from *wire, e *entry) {
	w.refused(e)
	switch {
	case !e.write():
	case from.ours:
		w.look()
	case e.call() == "config":
		w.theirOwn(e)
	}
}

// theirOwn takes over what others have changed about a machine of theirs: a request that
// was late may meet another machine than it was meant for.
func (w *watch) theirOwn(e *entry) {
	id := e.vmid()
	w.mu.Lock()
	defer w.mu.Unlock()
	was, ok := w.others[id]
	if !ok {
		return
	}
	w.run.sim.Do(func(s *pvesim.State) {
		is := inspect.Portrait(s, id)
		if onlyKeys(was, is, slices.Collect(maps.Keys(e.params))) {
			w.others[id] = is
		}
	})
}

// onlyKeys reports whether two portraits differ in these keys of the config at most.
func onlyKeys(was, is string, keys []string) bool {
	rest := func(portrait string) []string {
		return slices.DeleteFunc(strings.Split(portrait, "\n"), func(line string) bool {
			return slices.ContainsFunc(keys, func(k string) bool {
				return strings.HasPrefix(line, k+": ") || strings.HasPrefix(line, "pending "+k+": ")
			})
		})
	}
	return slices.Equal(rest(was), rest(is))
}

// look compares what is there with what was there.
func (w *watch) look() {
	w.mu.Lock()
	var wrong []string
	w.run.sim.Do(func(s *pvesim.State) {
		wrong = append(wrong, w.untouched(s)...)
		wrong = append(wrong, w.ours(s)...)
		wrong = append(wrong, w.apart(s)...)
		wrong = append(wrong, w.homes(s)...)
	})
	w.mu.Unlock()
	for _, text := range wrong {
		w.run.fail("%s", text)
	}
}

// untouched checks that machines of others are as they were.
func (w *watch) untouched(s *pvesim.State) (wrong []string) {
	for _, id := range slices.Sorted(maps.Keys(w.others)) {
		was, is := w.others[id], inspect.Portrait(s, id)
		running, migrated := theirMigration(s, id)
		switch {
		case was == is || running:
		case migrated && elsewhere(was) == elsewhere(is):
			w.others[id] = is
		default:
			wrong = append(wrong, fmt.Sprintf("VM %d, which isn't ours, was changed: %s", id, inspect.Difference(was, is)))
			w.others[id] = is
		}
	}
	return wrong
}

// theirMigration reports whether other people or the HA manager have moved a machine to another node, or are about
// to: they may have asked for that long ago, when another machine had the VMID.
func theirMigration(s *pvesim.State, id int) (running, done bool) {
	for _, list := range s.Tasks {
		for _, t := range list {
			if t.Type == "qmigrate" && number(t.ID) == id && (strings.HasSuffix(t.UPID, "!people:") || underHA(s, id) && !strings.HasSuffix(t.UPID, "!us:")) {
				running, done = running || t.Running(), true
			}
		}
	}
	return running, done
}

// elsewhere is a portrait of a machine without the node that it is on.
func elsewhere(portrait string) string {
	lines := strings.Split(portrait, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "node ") {
			lines[i] = "node"
		} else if volume, ok := strings.CutPrefix(line, "volume "); ok {
			_, lines[i], _ = strings.Cut(volume, "/")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// ours checks that there is at most one machine for each wish, and that no disk
// went that nobody wanted to go.
func (w *watch) ours(s *pvesim.State) (wrong []string) {
	now := map[int]guest{}
	owners := map[model.Owner][]int{}
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		vm := s.VMs[id]
		m, ok := w.marker(vm.Conf["description"])
		if !ok || !m.Of(id) || w.others[id] != "" || id == neighbourVM {
			continue
		}
		was, lock := w.guests[id], vm.Conf["lock"]
		now[id] = guest{owner: m.Owner, volumes: disksOf(s, vm), whole: lock != "clone" && lock != "create" || was.whole && was.owner == m.Owner}
		owners[m.Owner] = append(owners[m.Owner], id)
	}
	if w.run.kube != nil {
		wrong = append(wrong, w.run.kube.alone(s)...)
	}
	for owner, ids := range owners {
		if len(ids) > 1 && w.run.kube == nil {
			wrong = append(wrong, fmt.Sprintf("%s of set %s has %d machines: %v", owner.Key, owner.Set, len(ids), ids))
		}
	}
	there := inspect.Volumes(s)
	for _, id := range slices.Sorted(maps.Keys(w.guests)) {
		was := w.guests[id]
		left := 0
		for _, v := range slices.Sorted(maps.Keys(was.volumes)) {
			if _, ok := there[v]; ok {
				left++
			} else if was.whole && !w.run.others.theirDoing(id) && !w.run.mayLose(was.owner, id, was.volumes[v]) && !moved(s, id, v) && !w.onItsWay(v) {
				wrong = append(wrong, fmt.Sprintf("disk %s of VM %d (%s) was destroyed, and nobody wanted that", v, id, was.owner.Key))
			}
		}
		if left == 0 && len(was.volumes) > 0 && w.run.kube != nil {
			w.run.kube.destroyed(id)
		}
	}
	w.guests = now
	return wrong
}

// onItsWay reports whether a request to remove a disk was under way when the disk was wanted again.
func (w *watch) onItsWay(volume string) bool {
	at, asked := w.removed[volume]
	return asked && time.Since(at) < time.Minute
}

// moved reports whether a machine still has what was on a volume of it that is gone: Proxmox
// has copied that to its end onto another one, which the machine's config names.
func moved(s *pvesim.State, id int, volume string) bool {
	vm := s.VMs[id]
	if vm == nil {
		return false
	}
	there := inspect.Volumes(s)
	_, former, _ := strings.Cut(volume, "/") // without the node, which may be another one now
	for slot, value := range vm.Conf {
		if isDrive(slot) && slices.Contains(there[inspect.VolumeOf(s, vm.Node, value)].Moved, former) {
			return true
		}
	}
	return false
}

// wishOf finds the wish for a machine by what its marker says.
func (r *run) wishOf(o model.Owner) (*set, *wish) {
	for _, s := range r.sets {
		if wish := s.byOwner(o); wish != nil {
			return s, wish
		}
	}
	return nil, nil
}

// mayLose reports whether somebody wants the owner's machine, or its disk, to go.
func (r *run) mayLose(o model.Owner, id int, slot string) bool {
	if r.kube != nil {
		return r.kube.mayLose(o, id)
	}
	if _, i := r.imageOf(o); i != nil {
		return true // it becomes another volume when it becomes a template; see beforeImage
	}
	s, wish := r.wishOf(o)
	return wish != nil && (s.mayGo(wish, time.Now()) || s.mayDrop(wish, slot))
}

// disksOf are the volumes with data that a machine's config names, by slot.
func disksOf(s *pvesim.State, vm *pvesim.VM) map[string]string {
	out := map[string]string{}
	for slot, value := range vm.Conf {
		if !isDrive(slot) || strings.HasPrefix(slot, "unused") || strings.Contains(value, "media=cdrom") {
			continue
		}
		if name := inspect.VolumeOf(s, vm.Node, value); name != "" {
			out[name] = slot
		}
	}
	return out
}
