package robustness

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// imageOf finds the image that a template says it is of. Its owner also names the generation, and the node.
func (r *run) imageOf(o model.Owner) (*set, *imageWish) {
	for _, s := range r.sets {
		if i := s.image(o.Name); i != nil && i.Owner.Key == o.Key && i.Owner.Set == o.Set {
			return s, i
		}
	}
	return nil, nil
}

// beforeImage judges a request of ours about a template of an image; false: it isn't one.
func (w *watch) beforeImage(e *entry, id int, o model.Owner) bool {
	s, i := w.run.imageOf(o)
	if i == nil {
		return false
	}
	if s.name != strings.SplitN(e.who, "#", 2)[0] {
		w.run.fail("a process of another set changes VM %d, a template of set %s: %s", id, s.name, e)
	}
	if e.method == http.MethodDelete && e.call() == "" && s.keeps(i, o) && w.finished(id) {
		w.run.fail("VM %d is the template of %s as it is wanted, and is to be destroyed: %s", id, o.Key, e)
	}
	return true
}

// keeps reports whether a template is of the generation of an image that is wanted.
func (s *set) keeps(i *imageWish, o model.Owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !i.Deleted && !i.NoCopies && i.current(o) && time.Since(i.changed) > grace
}

// current reports whether a template is of the generation that is wanted. Copies of templates that people made have
// one only: these stay as they are.
func (i *imageWish) current(o model.Owner) bool {
	_, version, _ := strings.Cut("+"+o.UID, "+")
	version = version[strings.LastIndex(version, "+")+1:]
	version, _, _ = strings.Cut(version, "@")
	return !i.fetched || version == i.Version()
}

// finished reports whether a VM is a template that clones can be made of. Proxmox calls a VM a template first, and makes
// base volumes of its disks then, which may fail.
func (w *watch) finished(id int) (finished bool) {
	w.run.sim.Do(func(s *pvesim.State) {
		finished = s.VMs[id] != nil && s.VMs[id].Template() && strings.Contains(s.VMs[id].Conf["scsi0"], "base-")
	})
	return finished
}

// linkedTo are the VMs with disks that hang on those of a template.
func linkedTo(st *pvesim.State, template int) (ids []int) {
	for _, v := range inspect.Volumes(st) {
		if strings.Contains(v.Parent, fmt.Sprintf("base-%d-disk-", template)) {
			ids = append(ids, v.VMID)
		}
	}
	for id, vm := range st.VMs { // somebody may have attached the base volume of an earlier template with its VMID
		for slot, value := range vm.Conf {
			if id != template && isDrive(slot) && strings.Contains(value, fmt.Sprintf("base-%d-disk-", template)) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// imageStays reports whether a template is rightly there when all is to be gone: something hangs on it, or its image
// can't go.
func (r *run) imageStays(st *pvesim.State, id int, o model.Owner) bool {
	_, i := r.imageOf(o)
	return i != nil && (len(linkedTo(st, id)) > 0 || r.excuses[i.Owner])
}

// imagesAsWanted checks what there is of the images of a set: of each generation that is wanted one template a node at most,
// finished; of others those that linked clones hang on.
func (r *run) imagesAsWanted(s *set) {
	var wrong []string
	r.sim.Do(func(st *pvesim.State) {
		current := map[string]int{}
		for _, id := range slices.Sorted(maps.Keys(st.VMs)) {
			vm := st.VMs[id]
			_, m, ok := model.ParseDescription(vm.Conf["description"])
			if !ok || !m.Of(id) {
				continue
			}
			of, i := r.imageOf(m.Owner)
			if i == nil || of != s {
				continue
			}
			switch at := m.Owner.Name + " on " + vm.Node; {
			case !vm.Template() && r.excuses[i.Owner]:
			case !vm.Template():
				wrong = append(wrong, fmt.Sprintf("VM %d was to be a template of %s and isn't", id, at))
			case i.current(m.Owner) && current[at] != 0:
				wrong = append(wrong, fmt.Sprintf("there are two templates of %s: %d and %d", at, current[at], id))
			case i.current(m.Owner):
				current[at] = id
			case r.excuses[i.Owner]: // the next one isn't complete
			case len(linkedTo(st, id)) == 0:
				wrong = append(wrong, fmt.Sprintf("template %d of %s is an earlier one that nothing hangs on", id, at))
			}
		}
		for _, i := range s.images {
			wrong = append(wrong, r.lacking(st, s, i, current)...)
		}
	})
	for _, text := range wrong {
		r.fail("set %s: %s", s.name, text)
	}
}

// baseLeft reports whether a node where a machine may go has the base volume of a template that is gone: no other can be
// made under that VMID. Who logs in with a password may not remove what an earlier process has left: nothing proves whose
// task that was.
func (r *run) baseLeft(st *pvesim.State, w *wish) bool {
	if !r.h.world.password {
		return false
	}
	for key, space := range st.Spaces {
		if len(w.Place.Nodes) > 0 && !slices.Contains(w.Place.Nodes, key.Node) {
			continue
		}
		for name, v := range space.Volumes {
			if st.VMs[v.VMID] == nil && strings.Contains(name, fmt.Sprintf("base-%d-", v.VMID)) {
				return true
			}
		}
	}
	return false
}

// lacking are the nodes that should have a template of an image before machines need it, and don't.
func (r *run) lacking(st *pvesim.State, s *set, i *imageWish, current map[string]int) (wrong []string) {
	nodes := i.Ahead
	if slices.Contains(nodes, model.AllNodes) {
		nodes = r.h.world.nodes
	}
	if i.Deleted || r.excuses[i.Owner] || len(r.h.world.shared) > 0 {
		return nil // one on a shared storage is for all
	}
	for _, node := range nodes {
		name := i.Owner.Name
		byHand := slices.ContainsFunc(slices.Collect(maps.Values(st.VMs)), func(vm *pvesim.VM) bool { return vm.Node == node && vm.Template() && vm.Name() == name && !i.fetched })
		if current[name+" on "+node] == 0 && !byHand {
			wrong = append(wrong, fmt.Sprintf("%s has no template of %s", node, name))
		}
	}
	return wrong
}

// imagesGo has all images go when machines have, and checks first that no earlier generation is there any more.
func (r *run) imagesGo() {
	if !r.h.world.spread || r.isBroken() {
		return
	}
	for _, s := range r.sets {
		r.converged(s)
		r.imagesAsWanted(s)
		s.change(func() {
			for _, i := range s.images {
				i.Deleted = true
			}
		})
		r.converged(s)
	}
}

// excusedImage reports whether an image, or a template of it, is rightly not as it should be.
func (r *run) excusedImage(st *pvesim.State, s *set, o engine.Outcome) bool {
	if o.Wait == nil {
		return false
	}
	switch o.Wait.Reason {
	case model.WaitOwner:
		return anyHalfMade(st)
	case model.WaitDependents:
		for id, vm := range st.VMs {
			_, m, ok := model.ParseDescription(vm.Conf["description"])
			if of, i := r.imageOf(m.Owner); ok && of == s && i.Owner.Name == o.Owner.Name && len(linkedTo(st, id)) > 0 {
				return true
			}
		}
	}
	return false
}
