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
	touched map[int]time.Time // until when what happens to a machine is their doing
	busy    map[int]int       // how many of them are at a machine
	locked  map[int]time.Time // since when they keep a machine locked
	taken   map[int]time.Time // when they made a machine of ours theirs
	ruined  map[int]bool      // machines of ours that they destroyed, and knew nothing of their files
}

func newOthers(r *run) *others {
	o := &others{run: r, touched: map[int]time.Time{}, busy: map[int]int{}, locked: map[int]time.Time{}, ruined: map[int]bool{}, taken: map[int]time.Time{}}
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
func (o *others) meddle(s *set, name string, do func(o *others, id int)) {
	id := o.find(s.owner("VirtualMachine", name))
	if id == 0 {
		return
	}
	o.run.troubles.Go(func() {
		o.mu.Lock()
		o.busy[id]++
		o.mu.Unlock()
		do(o, id)
		o.run.watch.look()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.busy[id]--
		o.touched[id] = time.Now().Add(30 * time.Second) // what they had begun may go on
	})
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

// forgot tells whether a file was made for a machine that others destroyed.
func (o *others) forgot(volume string) bool {
	_, rest, ok := strings.Cut(volume, ":iso/proxplane-")
	id, _, _ := strings.Cut(rest, "-")
	o.mu.Lock()
	defer o.mu.Unlock()
	return ok && o.ruined[number(id)]
}

// call makes a call about a machine, and waits for its task.
func (o *others) call(id int, method, path string, params pve.Params) bool {
	node := ""
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			node = vm.Node
		}
	})
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

func (o *others) config(id int, key, value string) {
	o.call(id, http.MethodPut, "/config", pve.Params{key: value})
}

func (o *others) status(id int, how string) { o.call(id, http.MethodPost, "/status/"+how, nil) }

func (o *others) snapshot(id int, name string) {
	o.call(id, http.MethodPost, "/snapshot", pve.Params{"snapname": name})
}

func (o *others) migrate(id int, to string) {
	params := pve.Params{"target": to, "with-local-disks": "1"}
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil && vm.Run != nil {
			params["online"] = "1"
		}
	})
	o.call(id, http.MethodPost, "/migrate", params)
}

func (o *others) destroy(id int) bool {
	o.mu.Lock()
	o.ruined[id] = true
	o.mu.Unlock()
	o.status(id, "stop")
	return o.call(id, http.MethodDelete, "", nil)
}

// reuse destroys a machine of ours and makes one of theirs in its place.
func (o *others) reuse(id int) {
	if o.destroy(id) {
		o.make(id, "theirs")
	}
}

// make makes a machine of theirs.
func (o *others) make(id int, name string) {
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
}

// takeOver makes a machine of ours one of theirs. What we do until we can have
// noticed is no fault of ours.
func (o *others) takeOver(id int) {
	if o.call(id, http.MethodPut, "/config", pve.Params{"description": "ours now"}) {
		o.mu.Lock()
		o.taken[id] = time.Now()
		o.mu.Unlock()
		time.Sleep(ownerNoticed)
		o.run.watch.adopt(id)
	}
}

// ownerNoticed is how long we may believe that a machine is ours: so old may the
// proof be, and so long may it take until what was decided is done.
const ownerNoticed = 10 * time.Second

// justTaken tells whether a machine of ours became theirs a moment ago.
func (o *others) justTaken(id int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.taken[id]
	return ok && time.Since(at) <= ownerNoticed
}

// clone copies a machine of ours, marker and all. The copy is theirs.
func (o *others) clone(id int) {
	to := 0
	o.run.sim.Do(func(s *pvesim.State) {
		for to = 7000; s.VMs[to] != nil; to++ {
		}
	})
	if o.call(id, http.MethodPost, "/clone", pve.Params{"newid": strconv.Itoa(to), "name": "copy"}) {
		o.run.watch.adopt(to)
	}
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

// lock keeps a machine locked as a backup does.
func (o *others) lock(id int, d time.Duration) {
	got := false
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil && vm.Conf["lock"] == "" && !working(s, id) {
			vm.Conf["lock"], got = "backup", true
		}
	})
	if !got {
		return
	}
	o.mu.Lock()
	o.locked[id] = time.Now()
	o.mu.Unlock()
	o.run.later(d, func() {
		o.mu.Lock()
		delete(o.locked, id)
		o.mu.Unlock()
		o.run.sim.Do(func(s *pvesim.State) {
			if vm := s.VMs[id]; vm != nil && vm.Conf["lock"] == "backup" {
				delete(vm.Conf, "lock")
			}
		})
	})
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

// restore puts the present config of a machine back after a while, but for its
// disks.
func (o *others) restore(s *set, name string, d time.Duration) {
	owner := s.owner("VirtualMachine", name)
	id := o.find(owner)
	if id == 0 {
		return
	}
	var saved pvesim.Conf
	o.run.sim.Do(func(s *pvesim.State) { saved = maps.Clone(s.VMs[id].Conf) })
	if saved["lock"] != "" {
		return
	}
	o.run.later(d, func() {
		o.run.sim.Do(func(s *pvesim.State) {
			vm := s.VMs[id]
			if vm == nil || vm.Conf["lock"] != "" || working(s, id) {
				return
			}
			if _, m, ok := model.ParseDescription(vm.Conf["description"]); !ok || m.Owner != owner {
				return
			}
			conf := maps.Clone(saved)
			maps.DeleteFunc(conf, func(k, _ string) bool { return isDrive(k) })
			for k, v := range vm.Conf {
				if isDrive(k) {
					conf[k] = v
				}
			}
			vm.Conf = conf
			o.run.trace.say("people", "put an earlier config of VM %d back", id)
		})
	})
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
func (o *others) strip(id int) {
	pool := ""
	o.run.sim.Do(func(s *pvesim.State) {
		for name, p := range s.Pools {
			if p.VMs[id] {
				pool = name
			}
		}
	})
	if pool != "" {
		o.do(http.MethodPut, "/pools/"+pool, pve.Params{"vms": strconv.Itoa(id), "delete": "1"})
	}
	o.do(http.MethodDelete, fmt.Sprintf("/cluster/ha/resources/vm:%d", id), nil)
}

// rob takes the VMIDs that we use next, just before us.
func (o *others) rob(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.greedy += n
}

// beforeUs is called when a request of ours is about to be handled.
func (o *others) beforeUs(e *entry) {
	if e.method != http.MethodPost {
		return
	}
	field := ""
	switch {
	case strings.HasSuffix(e.path, "/clone"):
		field = "newid"
	case strings.HasSuffix(e.path, "/qemu"):
		field = "vmid"
	default:
		return
	}
	id, err := strconv.Atoi(e.params.Get(field))
	if err != nil {
		return
	}
	o.mu.Lock()
	now := o.greedy > 0
	if now {
		o.greedy--
	}
	o.mu.Unlock()
	if now {
		o.make(id, "robbed")
	}
}
