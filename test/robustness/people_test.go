package robustness

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// others are the people who use the same cluster. They work through the API, as
// everybody does, and see no difference between our machines and theirs.
type others struct {
	run    *run
	client *pve.Client

	mu      sync.Mutex
	greedy  int               // VMIDs that they still take just before us
	lurking int               // VMIDs that they still reuse just before our last look
	touched map[int]time.Time // until when what happens to a machine is their doing
	busy    map[int]int       // how many of them are at a machine
	locked  map[int]time.Time // since when they keep a machine locked
	taken   map[int]time.Time // when they made a machine of ours theirs
	ruined  map[int]time.Time // when they destroyed a machine of ours, or took it over, and knew nothing of its files

	blurred  map[int]time.Time // when they began to restore a machine
	restored map[int]bool      // that they did
	debris   map[string]bool   // volumes that they should have removed
}

func newOthers(r *run) *others {
	o := &others{run: r, touched: map[int]time.Time{}, busy: map[int]int{}, locked: map[int]time.Time{}, ruined: map[int]time.Time{}, taken: map[int]time.Time{}, blurred: map[int]time.Time{}, restored: map[int]bool{}, debris: map[string]bool{}}
	c, err := pve.New(pve.Config{
		Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Token("root@pam!people", theirSecret), RoundTripper: r.newWire("people", false),
		Rand: func() float64 { return 0.5 }, Timeout: 10 * time.Minute, // they wait for their answers
	})
	if err != nil {
		panic(err)
	}
	o.client = c
	return o
}

// meddle does something to the machine of a wish, if it is there.
func (o *others) meddle(k kind, s *set, name string, do func(o *others, id int) bool) {
	id := o.find(s.owner("VirtualMachine", name))
	if id == 0 {
		return
	}
	o.run.troubles.Go(func() {
		leave := o.enter(id)
		defer leave()
		if do(o, id) {
			o.run.tells(k)
		}
		o.run.watch.look()
	})
}

// enter says that others are at a machine, until they leave.
func (o *others) enter(id int) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy[id]++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.busy[id]--
		o.touched[id] = time.Now().Add(30 * time.Second) // what they had begun may go on
	}
}

// find is the machine whose marker names the owner; 0: there is none.
func (o *others) find(owner model.Owner) (id int) {
	o.run.sim.Do(func(s *pvesim.State) {
		for i, vm := range s.VMs {
			if _, m, ok := model.ParseDescription(vm.Conf["description"]); ok && m.Owner == owner && m.Of(i) {
				id = i
			}
		}
	})
	return id
}

// theirDoing tells whether others are at a machine, or were a moment ago.
func (o *others) theirDoing(id int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.busy[id] > 0 || time.Now().Before(o.touched[id])
}

// lockedFor is how long others have kept a machine locked.
func (o *others) lockedFor(id int) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if since, ok := o.locked[id]; ok {
		return time.Since(since)
	}
	return 0
}

// forgot tells whether a volume was made for a machine that others destroyed, took
// over or have restored by half.
func (o *others) forgot(volume string, made time.Time) bool {
	_, rest, file := strings.Cut(volume, ":iso/proxplane-")
	id, _, _ := strings.Cut(rest, "-")
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ruined := o.ruined[number(id)]
	return file && ruined && made.Before(at.Add(uploadNoticed)) || o.debris[volume]
}

// uploadNoticed is how long an upload may go on that was begun for a machine that is
// gone by then.
const uploadNoticed = 4 * time.Minute

// ruins notes that they destroy a machine, with all its disks.
func (o *others) ruins(id int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ruined[id] = o.run.sim.Now()
	o.run.sim.Do(func(s *pvesim.State) {
		for key, sp := range s.Spaces {
			for name, v := range sp.Volumes {
				if v.VMID == id {
					o.debris[key.Node+"/"+key.Storage+":"+name] = true
				}
			}
		}
	})
}

// call makes a call about a machine, and waits for its task.
func (o *others) call(id int, method, path string, params pve.Params) bool {
	node := o.nodeOf(id)
	if node == "" {
		return false
	}
	return o.do(method, fmt.Sprintf("/nodes/%s/qemu/%d%s", node, id, path), params)
}

func (o *others) do(method, path string, params pve.Params) bool {
	var upid any
	if err := o.client.Call(context.Background(), method, path, params, &upid); err != nil {
		return false
	}
	text, _ := upid.(string)
	return !strings.HasPrefix(text, "UPID:") || o.run.taskEnds(text)
}

// taskEnds waits for a task, and tells whether it succeeded.
func (r *run) taskEnds(upid string) bool {
	for range 3000 {
		exit := ""
		r.sim.Do(func(s *pvesim.State) {
			for _, list := range s.Tasks {
				for _, t := range list {
					if t.UPID == upid {
						exit = t.Exit
					}
				}
			}
		})
		if exit != "" {
			return exit == "OK"
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

func (o *others) config(id int, key, value string) bool {
	return o.call(id, http.MethodPut, "/config", pve.Params{key: value})
}

func (o *others) status(id int, how string) bool {
	return o.call(id, http.MethodPost, "/status/"+how, nil)
}

func (o *others) snapshot(id int, name string) bool {
	return o.call(id, http.MethodPost, "/snapshot", pve.Params{"snapname": name})
}

func (o *others) migrate(id int, to string) bool {
	params := pve.Params{"target": to, "with-local-disks": "1"}
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil && vm.Run != nil {
			params["online"] = "1"
		}
	})
	if !o.call(id, http.MethodPost, "/migrate", params) {
		return false
	}
	for range 120 { // the HA manager does it when it gets round to it
		if o.nodeOf(id) == to {
			return true
		}
		time.Sleep(time.Second)
	}
	return false
}

func (o *others) destroy(id int) bool {
	o.status(id, "stop")
	o.ruins(id)
	if o.call(id, http.MethodDelete, "", nil) {
		return true
	}
	time.Sleep(10 * time.Second) // their answer may have been lost
	return o.nodeOf(id) == ""
}

// reuse destroys a machine of ours and makes one of theirs in its place.
func (o *others) reuse(id int) bool {
	return o.destroy(id) && o.make(id, "theirs")
}

// make makes a machine of theirs.
func (o *others) make(id int, name string) bool {
	o.do(http.MethodPost, "/nodes/"+o.run.h.world.nodes[0]+"/qemu", pve.Params{
		"vmid": strconv.Itoa(id), "name": name, "memory": "512", "scsi0": "local:1", "description": "made by hand",
	})
	time.Sleep(10 * time.Second) // their answer may have been lost
	made := false
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			_, _, marked := model.ParseDescription(vm.Conf["description"])
			made = !marked
		}
	})
	if made {
		o.run.watch.adopt(id)
	}
	return made
}

// takeOver makes a machine of ours one of theirs. What we do until we can have
// noticed is no fault of ours.
func (o *others) takeOver(id int) bool {
	o.call(id, http.MethodPut, "/config", pve.Params{"description": "ours now"})
	if o.ownerOf(id) != (model.Owner{}) || o.nodeOf(id) == "" {
		return false
	}
	o.mu.Lock()
	o.taken[id], o.ruined[id] = time.Now(), o.run.sim.Now() // the line that they took out has named files
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

// justTaken tells whether a machine of ours became theirs a moment ago, or is
// being restored since then, where nothing tells whose it is.
func (o *others) justTaken(id int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.taken[id]) <= ownerNoticed || time.Since(o.blurred[id]) <= ownerNoticed
}

// clone copies a machine of ours, marker and all. The copy is theirs.
func (o *others) clone(id int) bool {
	to := 0
	o.run.sim.Do(func(s *pvesim.State) {
		for to = 7000; s.VMs[to] != nil; to++ {
		}
	})
	o.call(id, http.MethodPost, "/clone", pve.Params{"newid": strconv.Itoa(to), "name": "copy"})
	if o.nodeOf(to) == "" {
		return false
	}
	o.run.watch.adopt(to) // whatever they were told
	return true
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

// unlockStuck does what we ask for when a machine is locked and no task is at it: a
// snapshot that couldn't be deleted leaves it so.
func (o *others) unlockStuck() {
	o.run.sim.Do(func(s *pvesim.State) {
		for id, vm := range s.VMs {
			if vm.Conf["lock"] != "" && !halfMade(vm) && !working(s, id) {
				delete(vm.Conf, "lock")
			}
		}
	})
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

// lock keeps a machine locked as a backup does.
func (o *others) lock(id int, d time.Duration) bool {
	got := false
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil && vm.Conf["lock"] == "" && !working(s, id) {
			vm.Conf["lock"], got = "backup", true
		}
	})
	if !got {
		return false
	}
	o.lockedSince(id)
	o.run.later(d, func() {
		o.unlocked(id)
		o.run.sim.Do(func(s *pvesim.State) {
			if vm := s.VMs[id]; vm != nil && vm.Conf["lock"] == "backup" {
				delete(vm.Conf, "lock")
			}
		})
	})
	return true
}

func (o *others) lockedSince(id int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locked[id] = time.Now()
}

func (o *others) unlocked(id int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.locked, id)
}

// working tells whether a task is at a machine.
func working(s *pvesim.State, id int) bool {
	for _, list := range s.Tasks {
		for _, t := range list {
			if t.Running() && (t.ID == strconv.Itoa(id) || t.Type == "qmclone") {
				return true
			}
		}
	}
	return false
}

func isDrive(key string) bool {
	for _, p := range []string{"scsi", "virtio", "ide", "sata", "unused", "efidisk", "tpmstate"} {
		if rest, ok := strings.CutPrefix(key, p); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return key == "parent"
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

// rob takes the VMIDs that we use next, just before us.
func (o *others) rob(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.greedy += n
}

// lurk reuses the next VMID whose machine we are about to destroy.
func (o *others) lurk() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lurking++
}

// beforeUs is called when a request of ours is about to be handled.
func (o *others) beforeUs(e *entry) {
	switch {
	case e.method == http.MethodPost && strings.HasSuffix(e.path, "/clone"):
		o.takes(e.params.Get("newid"))
	case e.method == http.MethodPost && strings.HasSuffix(e.path, "/qemu"):
		o.takes(e.params.Get("vmid"))
	case e.method == http.MethodGet && e.call() == "config" && strings.Contains(e.query, "current=1"):
		o.slips(e.vmid())
	}
}

// takes makes a machine under a VMID that we are about to use, if they want to.
func (o *others) takes(vmid string) {
	id, err := strconv.Atoi(vmid)
	if err == nil && o.wants(&o.greedy) && o.make(id, "robbed") {
		o.run.tells(othersTake)
	}
}

// slips destroys a machine that we are about to look at for the last time, and
// makes one of theirs in its place.
func (o *others) slips(id int) {
	if !o.wants(&o.lurking) {
		return
	}
	leave := o.enter(id)
	defer leave()
	if o.reuse(id) {
		o.run.tells(othersSly)
	}
}

// wants takes one of what they still want to do.
func (o *others) wants(n *int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if *n == 0 {
		return false
	}
	*n--
	return true
}
