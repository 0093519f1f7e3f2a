package robustness

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// takeOver makes a machine of ours one of theirs. What we do until we can have
// noticed is no fault of ours.
func (o *others) takeOver(id int) bool {
	was, copied := o.ownerOf(id), o.taggedFor(id)
	o.call(id, http.MethodPut, "/config", pve.Params{"description": "ours now"})
	if o.ownerOf(id) != (model.Owner{}) || o.nodeOf(id) == "" {
		return false
	}
	o.mu.Lock()
	o.taken[id], o.ruined[id] = time.Now(), o.run.sim.Now() // the line that they took out has named files
	o.former[id] = append(o.former[id], was, copied)
	o.mu.Unlock()
	time.Sleep(ownerNoticed)
	if o.ownerOf(id) == (model.Owner{}) {
		o.run.watch.adopt(id) // unless a backup has made it ours again
	}
	return true
}

// ownerNoticed is how long we may believe that a machine is ours: so old may the
// proof be, and so long may it take until what was decided is done.
const ownerNoticed = 10 * time.Second

// justTaken reports whether a machine of ours became theirs a moment ago, or is
// being restored since then, where nothing tells whose it is.
func (o *others) justTaken(id int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.taken[id]) <= ownerNoticed || time.Since(o.blurred[id]) <= ownerNoticed
}

// takenAt is when others made a machine of ours theirs, if they did.
func (o *others) takenAt(id int) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.taken[id]
	return at, ok
}

// hasTaken reports whether a machine that is there was the object's with that UID, until
// others overwrote its notes.
func (o *others) hasTaken(s *pvesim.State, uid string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, was := range o.former {
		if vm := s.VMs[id]; vm != nil && slices.ContainsFunc(was, func(o model.Owner) bool { return o.UID == uid }) {
			if _, _, marked := model.ParseDescription(vm.Conf["description"]); !marked {
				return true
			}
		}
	}
	return false
}

// disown does what we ask for when a machine has our tag and not our marker: it
// takes the tag off too.
func (o *others) disown() {
	o.mu.Lock()
	list := slices.Sorted(maps.Keys(o.taken))
	o.mu.Unlock()
	for _, id := range list {
		if o.find(o.ownerOf(id)) == id {
			continue // it has become ours again
		}
		o.run.watch.release(id)
		o.call(id, http.MethodPut, "/config", pve.Params{"tags": "theirs"})
		o.run.watch.adopt(id)
	}
}

// ownerOf is whose a machine says that it is.
func (o *others) ownerOf(id int) (owner model.Owner) {
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			_, m, _ := model.ParseDescription(vm.Conf["description"])
			owner = m.Owner
		}
	})
	return owner
}

// taggedFor is whose tag a machine has. Proxmox copies tags: a clone of a machine of ours has those of its
// source until it is configured.
func (o *others) taggedFor(id int) (owner model.Owner) {
	o.run.sim.Do(func(s *pvesim.State) {
		vm := s.VMs[id]
		if vm == nil {
			return
		}
		tagged, _, ok := model.ParseStateTag(strings.Split(vm.Conf["tags"], ";"))
		for other, vm := range s.VMs {
			if _, m, marked := model.ParseDescription(vm.Conf["description"]); ok && marked && m.Of(other) && m.Owner.ID() == tagged {
				owner = m.Owner
			}
		}
	})
	return owner
}

// strip takes a machine out of its pool and away from the HA manager.
func (o *others) strip(id int) bool {
	pool := ""
	o.run.sim.Do(func(s *pvesim.State) {
		for name, p := range s.Pools {
			if p.VMs[id] {
				pool = name
			}
		}
	})
	out := pool != "" && o.do(http.MethodPut, "/pools/"+pool, pve.Params{"vms": strconv.Itoa(id), "delete": "1"})
	return o.do(http.MethodDelete, fmt.Sprintf("/cluster/ha/resources/vm:%d", id), nil) || out
}
