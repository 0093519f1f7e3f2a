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
	greedy  int                   // VMIDs that they still take just before us
	lurking int                   // VMIDs that they still reuse just before our last look
	touched map[int]time.Time     // until when what happens to a machine is their doing
	busy    map[int]int           // how many of them are at a machine
	locked  map[int]time.Time     // since when they keep a machine locked
	taken   map[int]time.Time     // when they made a machine of ours theirs
	former  map[int][]model.Owner // whose it was, and whose tags it had
	ruined  map[int]time.Time     // when they destroyed a machine of ours, or took it over, and knew nothing of its files

	blurred  map[int]time.Time // when they began to restore a machine
	restored map[int]time.Time // the same, by the clock of Proxmox
	debris   map[string]bool   // volumes that they should have removed

	displaced map[int]bool // machines where they have put a drive into the slot of a disk, or a disk into that of a drive
}

func newOthers(r *run) *others {
	o := &others{run: r, touched: map[int]time.Time{}, busy: map[int]int{}, locked: map[int]time.Time{}, ruined: map[int]time.Time{}, taken: map[int]time.Time{}, former: map[int][]model.Owner{}, blurred: map[int]time.Time{}, restored: map[int]time.Time{}, debris: map[string]bool{}, displaced: map[int]bool{}}
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
	if id := o.find(s.owner("VirtualMachine", name)); id != 0 {
		o.meddleWith(k, id, do)
	}
}

// meddleWith does something to a VM.
func (o *others) meddleWith(k kind, id int, do func(o *others, id int) bool) {
	o.run.troubles.Go(func() {
		leave := o.enter(id)
		defer leave()
		if do(o, id) {
			o.run.tells(k)
		}
	})
}

// enter says that others are at a machine, until they leave.
func (o *others) enter(id int) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy[id]++
	return func() {
		o.run.watch.look() // what they did until now isn't ours, however late the next look is
		o.mu.Lock()
		defer o.mu.Unlock()
		o.busy[id]--
		o.touched[id] = time.Now().Add(30 * time.Second) // what they had begun may go on
	}
}

// find is the machine whose marker names the owner; 0: there is none.
func (o *others) find(owner model.Owner) (id int) {
	o.run.sim.Do(func(s *pvesim.State) { id = o.findIn(s, owner) })
	return id
}

// findIn does so in a state.
func (o *others) findIn(s *pvesim.State, owner model.Owner) (id int) {
	for i, vm := range s.VMs {
		if _, m, ok := model.ParseDescription(vm.Conf["description"]); ok && m.Owner == owner && m.Of(i) && i != neighbourVM {
			id = i
		}
	}
	return id
}

// theirDoing reports whether others are at a machine, or were a moment ago.
func (o *others) theirDoing(id int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.busy[id] > 0 || time.Now().Before(o.touched[id])
}

// touchedSince reports whether others have done something to a machine since a time.
func (o *others) touchedSince(id int, at time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.busy[id] > 0 || o.touched[id].After(at)
}

// forgot reports whether a volume was made for a machine that others destroyed, took
// over or have restored by half.
func (o *others) forgot(volume string, made time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ruined := o.ruined[fileFor(volume)]
	return ruined && made.Before(at.Add(uploadNoticed)) || o.debris[volume]
}

// fileFor is the VMID that a file of ours was made for; 0: it isn't one.
func fileFor(volume string) int {
	_, rest, _ := strings.Cut(volume, ":iso/proxplane-")
	id, _, _ := strings.Cut(rest, "-")
	return number(id)
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

// taskEnds waits for a task, and reports whether it succeeded.
func (r *run) taskEnds(upid string) bool {
	for range 36_000 { // an hour: storages may be slow
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
	o.call(id, http.MethodPost, "/migrate", params) // its answer may be lost
	for range 120 {                                 // the HA manager does it when it gets round to it
		if o.nodeOf(id) == to {
			return true
		}
		time.Sleep(time.Second)
	}
	return false
}

func (o *others) destroy(id int) bool {
	was := o.made(id)
	o.status(id, "stop")
	if !was && o.made(id) {
		return false // it took long, and another of them has made a machine there by now
	}
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

// madeByHand is what their machines say.
const madeByHand = "made by hand"

// make makes a machine of theirs.
func (o *others) make(id int, name string) bool { return o.makeWith(id, name, pve.Params{}) }

// makeWith makes a machine with further options.
func (o *others) makeWith(id int, name string, options pve.Params) bool {
	maps.Copy(options, pve.Params{"vmid": strconv.Itoa(id), "name": name, "memory": "512", "scsi0": "local:1", "description": madeByHand})
	o.do(http.MethodPost, "/nodes/"+o.run.h.world.nodes[0]+"/qemu", options)
	time.Sleep(10 * time.Second) // their answer may have been lost
	o.whole(id)                  // what is being made then may be ours
	if !o.made(id) {
		return false
	}
	o.run.watch.adopt(id)
	return true
}

// made reports whether a machine is one that they have made.
func (o *others) made(id int) (made bool) {
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			made = vm.Conf["description"] == madeByHand
		}
	})
	return made
}

// whole waits until nobody makes a machine with that VMID.
func (o *others) whole(id int) {
	for range 300 {
		half := false
		o.run.sim.Do(func(s *pvesim.State) {
			half = s.VMs[id] != nil && slices.Contains([]string{"clone", "create"}, s.VMs[id].Conf["lock"])
		})
		if !half {
			return
		}
		time.Sleep(time.Second)
	}
}

// clone copies a machine of ours, marker and all. The copy is theirs.
func (o *others) clone(id int) bool {
	to := 0
	o.run.sim.Do(func(s *pvesim.State) {
		for to = 7000; s.VMs[to] != nil; to++ {
		}
	})
	if !o.call(id, http.MethodPost, "/clone", pve.Params{"newid": strconv.Itoa(to), "name": "copy"}) {
		time.Sleep(10 * time.Second) // their answer may have been lost before the copy was begun
		o.whole(to)
	}
	if o.nodeOf(to) == "" {
		o.ruins(to) // Proxmox has given up, and may have left disks
		return false
	}
	o.run.watch.adopt(to) // whatever they were told
	return true
}

func isDrive(key string) bool {
	for _, p := range []string{"scsi", "virtio", "ide", "sata", "unused", "efidisk", "tpmstate"} {
		if rest, ok := strings.CutPrefix(key, p); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return key == "parent"
}
