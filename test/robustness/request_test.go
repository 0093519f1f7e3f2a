package robustness

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/steps"
)

// before judges a request of ours at the moment when Proxmox gets it, by what is
// true then.
func (w *watch) before(e *entry) {
	id := e.vmid()
	w.run.planned(e)
	if w.run.neighbour != nil {
		w.run.neighbour.used(e)
	}
	if !e.write() || id == 0 || e.call() == "clone" {
		return // copying somebody's template changes nothing about it
	}
	var conf pvesim.Conf
	digest := ""
	w.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			conf, digest = vm.Conf, vm.Digest()
		}
	})
	if conf == nil {
		return
	}
	if given := e.params.Get("digest"); given != "" && given != digest {
		return // Proxmox refuses it
	}
	destroys := e.method == http.MethodDelete && e.call() == ""
	if conf["lock"] == "destroyed" && e.params.Get("skiplock") == "" {
		return // so it does here: what is being destroyed is locked to its end, and says nobody's any more
	}
	if destroys && !w.run.justRead(e) {
		w.run.fail("VM %d is to be destroyed, and its config wasn't read right before: %s", id, e)
	}
	if w.run.kube != nil {
		w.run.kube.before(e, conf)
		return
	}
	m, ok := w.marker(conf["description"])
	if ok && m.Of(id) && w.beforeImage(e, id, m.Owner) {
		return
	}
	s, wish := w.run.wishOf(m.Owner)
	if !ok || !m.Of(id) || wish == nil {
		if w.run.others.justTaken(id) && !destroys || !ok && w.run.letGoLate(e) {
			return
		}
		w.run.fail("a request would change VM %d, which isn't ours: %s", id, e)
		return
	}
	now := time.Now()
	if s.name != strings.SplitN(e.who, "#", 2)[0] {
		w.run.fail("a process of another set changes VM %d of set %s: %s", id, s.name, e)
	}
	if w.run.others.lockedFor(id) > lockNoticed {
		w.run.fail("VM %d has been locked for %v, and isn't left alone: %s", id, w.run.others.lockedFor(id), e)
	}
	switch {
	case (destroys || stops(e)) && m.Retain && s.pruned(wish, now):
		w.run.fail("VM %d (%s) is to stay since its deletionPolicy is Retain, and nobody wants anything else of it: %s", id, wish.Owner.Key, e)
	case destroys && !s.mayGo(wish, now):
		w.run.fail("VM %d (%s) is wanted, and is to be destroyed: %s", id, wish.Owner.Key, e)
	case stops(e) && !s.mayStop(wish, now) && !s.mayGo(wish, now):
		w.run.fail("VM %d (%s) is to stop, and nobody has allowed that: %s", id, wish.Owner.Key, e)
	case strings.HasSuffix(e.path, "/rollback"):
		w.rollback(s, wish, e)
	case e.call() == "config":
		w.removes(s, wish, e)
	}
}

// removes notes the disks that a request removes and that nobody wants as it comes.
func (w *watch) removes(of *set, wish *wish, e *entry) {
	var disks map[string]string
	w.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[e.vmid()]; vm != nil {
			disks = disksOf(s, vm)
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for volume, slot := range disks {
		if slices.Contains(strings.Split(e.params.Get("delete"), ","), slot) && of.mayDrop(wish, slot) {
			w.removed[volume] = time.Now()
		}
	}
}

// justRead reports whether whoever asks has read the guest's config right before: no later than it
// takes to send the next request.
func (r *run) justRead(now *entry) bool {
	return r.trace.count(func(e *entry) bool {
		return e.who == now.who && e.method == http.MethodGet && e.vmid() == now.vmid() && e.call() == "config" && e.done > 0 && now.at-e.done < time.Second
	}) > 0
}

// planned checks that a request that takes something away belongs to a step of a plan, which its process
// has said that it does.
func (r *run) planned(e *entry) {
	var doing steps.Running
	by := &doing
	r.mu.Lock()
	for _, p := range r.all {
		if p.name == e.who {
			by = &p.steps
		}
	}
	if r.kube != nil {
		for _, p := range r.kube.all {
			if p.name == e.who {
				by = &p.steps
			}
		}
	}
	r.mu.Unlock()
	if err := by.Check(e.method, e.path, e.params); err != nil {
		r.fail("nobody has planned it: %v", err)
	}
}

// letGoLate reports whether a request of ours to let go of a machine, which nobody waited
// for any more, was done after the last look before this request. Something else was
// wanted of the machine by then.
func (r *run) letGoLate(now *entry) bool {
	var looked time.Duration
	r.trace.count(func(e *entry) bool {
		if e.who == now.who && e.method == http.MethodGet && e.vmid() == now.vmid() && e.call() == "config" {
			looked = e.at
		}
		return false
	})
	return looked > 0 && r.trace.count(func(e *entry) bool {
		_, marked := r.watch.marker(e.params.Get("description"))
		return e.ours && e.left && e.method == http.MethodPut && e.vmid() == now.vmid() && e.params.Has("description") && !marked && e.done > looked
	}) > 0
}

// lockNoticed is how long it may take until a lock is noticed.
const lockNoticed = 30 * time.Second

// stops reports whether a request stops a machine.
func stops(e *entry) bool {
	switch e.call() {
	case "status/stop", "status/shutdown", "status/reboot", "status/reset", "status/suspend":
		return true
	}
	return false
}

// rollback counts how often a machine goes back to a snapshot because of one
// wish: the second time loses what came after the first.
func (w *watch) rollback(s *set, wish *wish, e *entry) {
	name := strings.TrimPrefix(strings.TrimSuffix(e.call(), "/rollback"), "snapshot/")
	value := ""
	s.mu.Lock()
	for _, snap := range s.snaps {
		if snap.VM == wish.Owner.Key && snap.Name == name {
			value = snap.Revert
		}
	}
	s.mu.Unlock()
	w.run.passesOver(e.vmid(), name)
	w.mu.Lock()
	defer w.mu.Unlock()
	e.revert = fmt.Sprintf("%s/%s/%s/%s", s.name, wish.Name, name, value)
	if w.reverts[e.revert]++; w.reverts[e.revert] > 1 {
		defer w.run.fail("%s is rolled back to %s for the %s time because of one wish (%q)", wish.Owner.Key, name, nth(w.reverts[e.revert]), value)
	}
}

// passesOver notes the disks that a machine has, and its snapshot hasn't: Proxmox keeps
// them as unused ones when the machine goes back to it.
func (r *run) passesOver(id int, snapshot string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sim.Do(func(s *pvesim.State) {
		vm := s.VMs[id]
		if vm == nil || vm.Snaps[snapshot] == nil {
			return
		}
		then := disksOf(s, &pvesim.VM{Node: vm.Node, Conf: vm.Snaps[snapshot].Conf})
		for volume := range disksOf(s, vm) {
			if then[volume] == "" {
				r.beside[volume] = true
			}
		}
	})
}

// refused takes back what was counted for a request that Proxmox didn't do.
func (w *watch) refused(e *entry) {
	if e.revert != "" && e.status >= 400 && !e.lost() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reverts[e.revert]--
	}
}
