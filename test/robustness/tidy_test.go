package robustness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// tidy checks that there is nothing that nobody needs: volumes, files, entries of
// HA and pools, locks.
func (r *run) tidy() {
	var wrong []string
	r.sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if lock := vm.Conf["lock"]; lock != "" && !halfMade(vm) {
				wrong = append(wrong, vm.Name()+" is locked ("+lock+")")
			}
			if _, theirs := r.watch.others[id]; theirs {
				continue
			}
			for k, v := range vm.Conf {
				switch {
				case !strings.HasPrefix(k, "unused"):
				case r.others.left(id, k):
					r.census.excuse("an unused disk that a restored backup hadn't")
				case r.beside[inspect.VolumeOf(st, vm.Node, v)]:
					r.census.excuse("an unused disk that is younger than the snapshot")
				case r.others.displacedOf(id):
					r.census.excuse("an unused disk of others, or whose slot has a drive of theirs")
				case r.inUse(st, v):
					r.census.excuse("an unused disk that Proxmox didn't delete, since a snapshot had it")
				default:
					wrong = append(wrong, vm.Name()+" has an unused disk: "+v)
				}
			}
		}
		missed, used := r.missed(st), inspect.Used(st)
		for name, v := range inspect.Volumes(st) {
			if _, old := r.watch.initial[name]; old || used[name] || v.Content == "backup" {
				continue
			}
			if why := r.whyLeft(st, name, v, missed); why != "" {
				r.census.excuse(why)
			} else {
				wrong = append(wrong, "volume "+name+" is left behind")
			}
		}
		for _, text := range inspect.Entries(st) {
			if r.pooledLate(text) {
				r.census.excuse("an entry of a pool that was made when its machine was gone")
			} else {
				wrong = append(wrong, text)
			}
		}
	})
	slices.Sort(wrong)
	for _, text := range wrong {
		r.fail("%s", text)
	}
}

// whyLeft is the reason why nobody of us can have removed a volume; empty: there is
// none.
func (r *run) whyLeft(st *pvesim.State, name string, v pvesim.Volume, missed map[int]bool) string {
	switch {
	case r.h.world.password && missed[v.VMID] && v.Content == "images":
		return "a disk that only the log of a task names whose process was gone, which had a password"
	case r.adrift[name] && (r.h.world.password || len(movedFrom(st, name, v.VMID)) > 0):
		return "a disk that a process which was stopped has named"
	case r.theirsNow(v):
		return "a disk of ours whose VMID others have taken before it could be removed"
	case r.movedUnseen(st, name, v.VMID):
		return "the old volume of a disk that was moved when the process that had begun it was gone"
	case r.unfinished(st, name):
		return "first-boot data of a machine that can't be finished, whose marker names it"
	case heldBySnapshots(st, name):
		return "first-boot data that a snapshot may have, whose machine names it"
	case v.Content == "import" && r.stuckTemplate(st):
		return "the file of an image of which Proxmox left a half-made guest that says nobody's"
	case r.late(name):
		return "a file that came when its process was gone"
	case r.silent(name):
		return "a cloud-init drive that Proxmox left without a word"
	case r.others.outdated(name, v.CTime):
		return "first-boot data that a restored backup doesn't name"
	case r.others.forgot(name, v.CTime):
		return "what others have left"
	}
	return ""
}

// heldBySnapshots reports whether a machine with snapshots names a file as its earlier first-boot data: a snapshot may have it in a
// drive.
func heldBySnapshots(st *pvesim.State, name string) bool {
	for _, vm := range st.VMs {
		_, m, ok := model.ParseDescription(vm.Conf["description"])
		if ok && len(vm.Snaps) > 0 && slices.ContainsFunc(m.Old, func(volume string) bool { return strings.HasSuffix(name, "/"+volume) }) {
			return true
		}
	}
	return false
}

// stuckTemplate reports whether there is a half-made guest, which may be the template that a file is
// for: nobody can go on with it, or with the image, before somebody has looked at it.
func (r *run) stuckTemplate(st *pvesim.State) bool {
	for id, vm := range st.VMs {
		if _, theirs := r.watch.others[id]; !theirs && halfMade(vm) {
			return true
		}
	}
	return false
}

// sight is who of us has seen the end of a task, and when.
type sight struct {
	who string
	at  time.Time
}

// clearing is how long a process takes from the end of a task to the removal of the disks that the task
// has left: nobody may have written to them for a minute.
const clearing = 2 * time.Minute

// follow notes that one of us has seen the end of a task.
func (r *run) follow(who, task string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[task] = append(r.ends[task], sight{who, time.Now()})
}

// followed reports whether a process that has seen the end of a task went on long enough to remove what the task
// had left.
func (r *run) followed(task string) bool {
	return slices.ContainsFunc(r.ends[task], func(seen sight) bool {
		crashed, ok := r.killed[seen.who]
		return !ok || crashed.Sub(seen.at) > clearing
	})
}

// missed are the VMIDs of which Proxmox may have left disks, and told nobody: those
// of tasks that failed, or warned, when the process that had begun them was gone, or that crashed before it could
// remove them.
// Nothing but their logs names such disks.
func (r *run) missed(st *pvesim.State) map[int]bool {
	ids := map[int]bool{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, list := range st.Tasks {
		for _, t := range list {
			if t.Exit == "OK" || r.followed(t.UPID) {
				continue
			}
			switch t.Type {
			case "qmdestroy", "qmcreate":
				ids[number(t.ID)] = true
			case "qmclone":
				for _, line := range t.Log {
					if _, id, ok := strings.Cut(line, " with ID "); ok {
						ids[number(id)] = true
					}
				}
			}
		}
	}
	return ids
}

// movedUnseen reports whether Proxmox has moved a disk away from a volume and couldn't remove
// that, and the process that had begun it was gone. Such a task is OK, and plans name the volume
// to people.
func (r *run) movedUnseen(st *pvesim.State, volume string, vmid int) bool {
	return slices.ContainsFunc(movedFrom(st, volume, vmid), func(t *pvesim.TaskInfo) bool { return !r.knows(t.UPID, t.End) })
}

// movedFrom are the tasks that have moved a disk away from a volume.
func movedFrom(st *pvesim.State, volume string, vmid int) (tasks []*pvesim.TaskInfo) {
	_, name, _ := strings.Cut(volume, "/")
	storage, name, _ := strings.Cut(name, ":")
	for _, list := range st.Tasks {
		for _, t := range list {
			if t.Type == "qmmove" && number(t.ID) == vmid && slices.ContainsFunc(t.Log, func(line string) bool {
				return strings.HasPrefix(line, "removing source volume '"+storage+":") && strings.Contains(line, name+"'")
			}) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// theirsNow reports whether a disk has the VMID of a machine that others have made by hand: whose it is nobody
// can tell any more.
func (r *run) theirsNow(v pvesim.Volume) bool {
	is, theirs := r.watch.others[v.VMID]
	return v.Content == "images" && theirs && strings.Contains(is, "description: "+madeByHand)
}

// knows reports whether the process that has begun a task still was there when it ended.
func (r *run) knows(task string, ended time.Time) bool {
	r.mu.Lock()
	gone := maps.Clone(r.gone)
	r.mu.Unlock()
	return r.trace.count(func(e *entry) bool {
		at, over := gone[e.who]
		return e.ours && e.call() == "move_disk" && !e.lost() && strings.Contains(e.answer, task) && (!over || at.After(ended))
	}) > 0
}

// unfinished reports whether the marker of a machine names a file that isn't in a drive yet, or no longer,
// and it is right that the machine isn't finished: the file goes with the machine. Others may have moved the
// machine to another node since.
func (r *run) unfinished(st *pvesim.State, volume string) bool {
	_, file, _ := strings.Cut(volume, "/") // without the node
	for _, vm := range st.VMs {
		_, m, ok := model.ParseDescription(vm.Conf["description"])
		if ok && r.excuses[m.Owner] && slices.Contains(m.Seeds(), file) {
			return true
		}
	}
	return false
}

// late reports whether a file came when nobody waited for it any more: it was
// uploaded by a request that was long under way.
func (r *run) late(volume string) bool {
	_, file, ok := strings.Cut(volume, ":iso/")
	return ok && r.trace.count(func(e *entry) bool { return e.left && e.params.Get("filename") == file }) > 0
}

// inUse reports whether Proxmox has refused to delete a volume because a snapshot had it.
// When its slot gets another disk, Proxmox keeps it as an unused one.
func (r *run) inUse(st *pvesim.State, volume string) bool {
	volume, _, _ = strings.Cut(volume, ",")
	said := fmt.Sprintf("unable to delete '%s' - volume is still in use (snapshot?)", volume)
	for _, list := range st.Tasks {
		for _, t := range list {
			if strings.Contains(t.Exit+strings.Join(t.Log, "\n"), said) {
				return true
			}
		}
	}
	return r.trace.count(func(e *entry) bool { return e.ours && strings.Contains(e.answer, said) }) > 0
}

// pooledLate reports whether an entry of a pool, of which text says that its machine is
// gone, comes from a request that nobody waited for any more. Proxmox shows such
// entries to nobody: its API lists the members of a pool that are there.
func (r *run) pooledLate(text string) bool {
	var pool string
	var id int
	if _, err := fmt.Sscanf(text, "pool %s still has VM %d, which is gone", &pool, &id); err != nil {
		return false
	}
	return r.trace.count(func(e *entry) bool {
		return e.left && e.path == "/pools" && e.params.Get("poolid") == pool && !e.params.Has("delete") && slices.Contains(strings.Split(e.params.Get("vms"), ","), strconv.Itoa(id))
	}) > 0
}

// silent reports whether Proxmox may have left a volume without a word: that of a
// cloud-init drive that is exchanged while others hold the lock of its storage.
func (r *run) silent(volume string) bool {
	return strings.Contains(volume, "-cloudinit") && r.census.happened(faultStoreLock)
}

// drifts notes what one of us that was stopped says Proxmox has left: a person has to
// remove it.
func (r *run) drifts(left string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sim.Do(func(st *pvesim.State) {
		for name, v := range inspect.Volumes(st) {
			if v.Content == "images" && strings.HasPrefix(left, fmt.Sprintf("disks of VMID %d,", v.VMID)) {
				r.adrift[name] = true
			}
		}
		for _, volume := range strings.Split(left, ", ") {
			for _, node := range r.h.world.nodes {
				r.adrift[inspect.VolumeOf(st, node, volume)] = true
			}
		}
	})
}

// halfMade reports whether a task that should have made a machine has said that it
// did, and did nothing: then nobody knows whose it was to be.
func halfMade(vm *pvesim.VM) bool {
	lock := vm.Conf["lock"]
	return (lock == "create" || lock == "clone") && vm.Conf["description"] == ""
}

// retained reports whether a wish of that name asks for the machine to stay.
func (r *run) retained(name string) bool {
	for _, s := range r.sets {
		for _, w := range s.vms {
			if w.Name == name && (w.Retain || w.wasRetained) {
				return true
			}
		}
	}
	return false
}
