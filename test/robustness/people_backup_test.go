package robustness

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// backUp backs a machine up and restores that later. Meanwhile it may have been
// changed, or be gone.
func (o *others) backUp(s *set, name string, age time.Duration) {
	owner := s.owner("VirtualMachine", name)
	id := o.find(owner)
	if id == 0 {
		return
	}
	o.run.troubles.Go(func() {
		archive := o.dump(id)
		if archive == "" {
			return
		}
		t := time.NewTimer(age)
		defer t.Stop()
		select {
		case <-t.C:
		case <-o.run.over:
		}
		if o.find(owner) == id && o.restore(id, archive) {
			o.run.tells(othersRestore)
		}
		o.do(http.MethodDelete, "/nodes/"+o.run.h.world.nodes[0]+"/storage/"+backups+"/content/"+archive, nil)
	})
}

// backups is the storage where they are.
const backups = "backups"

// dump backs a machine up, and tells the file.
func (o *others) dump(id int) (archive string) {
	node := o.nodeOf(id)
	if node == "" {
		return ""
	}
	o.lockedSince(id)
	defer o.unlocked(id)
	o.do(http.MethodPost, "/nodes/"+node+"/vzdump", pve.Params{"vmid": strconv.Itoa(id), "storage": backups})
	o.run.sim.Do(func(s *pvesim.State) {
		for key, sp := range s.Spaces {
			for name, v := range sp.Volumes {
				if v.Content == "backup" && v.VMID == id && key.Storage == backups {
					archive = max(archive, backups+":"+name)
				}
			}
		}
	})
	return archive
}

// restore puts a backup in the place of a machine. While that goes on nothing
// tells whose it is; disks that the backup hasn't stay beside it.
func (o *others) restore(id int, archive string) bool {
	o.mu.Lock()
	busy := o.busy[id] > 0
	o.mu.Unlock()
	if busy {
		return false // one of them is at it already
	}
	leave := o.enter(id)
	defer leave()
	o.status(id, "stop")
	node := o.nodeOf(id)
	if node == "" {
		return false
	}
	o.mu.Lock()
	o.blurred[id], o.restored[id] = time.Now(), o.run.sim.Now()
	o.mu.Unlock()
	o.run.watch.release(id) // it may have become theirs a moment ago
	if !o.do(http.MethodPost, "/nodes/"+node+"/qemu", pve.Params{"vmid": strconv.Itoa(id), "archive": archive, "force": "1"}) {
		o.run.restoreEnds(id) // the answer may have been lost, and the backup is needed until then
	}
	if o.ownerOf(id) == (model.Owner{}) && o.nodeOf(id) != "" && !o.comes(id) {
		// It has failed halfway. Whose the machine was is known to nobody but them.
		o.ruins(id)
		o.run.watch.adopt(id)
	}
	return true
}

// comes reports whether somebody is just making a machine, which may be ours.
func (o *others) comes(id int) (comes bool) {
	o.run.sim.Do(func(s *pvesim.State) { comes = s.VMs[id] != nil && s.VMs[id].Conf["lock"] == "clone" })
	return comes
}

// restoreEnds waits until no restore of a machine runs.
func (r *run) restoreEnds(id int) {
	upid := ""
	r.sim.Do(func(s *pvesim.State) {
		for _, list := range s.Tasks {
			for _, t := range list {
				if t.Type == "qmrestore" && t.ID == strconv.Itoa(id) && t.Running() {
					upid = t.UPID
				}
			}
		}
	})
	if upid != "" {
		r.taskEnds(upid)
	}
}

// nodeOf is where a machine is; empty: nowhere.
func (o *others) nodeOf(id int) (node string) {
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			node = vm.Node
		}
	})
	return node
}

// left reports whether a disk that nobody uses is there because a backup was
// restored.
func (o *others) left(id int, key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.HasPrefix(key, "unused") && !o.restored[id].IsZero()
}

// detached reports whether a disk isn't added since one may be it that somebody's backup has
// detached: the marker that was restored names the disk, and is older than its volume.
func (o *others) detached(vm *pvesim.VM, f plan.Refusal) bool {
	if vm == nil || !strings.Contains(f.Why, "detached volumes") {
		return false
	}
	for key, value := range vm.Conf {
		volume, _, _ := strings.Cut(value, ",")
		if o.left(vm.ID, key) && strings.Contains(f.Why, volume) {
			return true
		}
	}
	return false
}

// outdated reports whether a file is younger than the backup of its machine that was
// restored since: nothing names it, until the machine is up to date again.
func (o *others) outdated(volume string, made time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return made.Before(o.restored[fileFor(volume)])
}
