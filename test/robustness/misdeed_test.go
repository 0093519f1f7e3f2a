package robustness

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// misdeed is something that must never happen, done on purpose: what the checks say
// to it shows that they can fail.
type misdeed struct {
	what string
	do   func(r *run, id int) // the machine of vm-a, which runs, is there
	says string               // pattern of what a check says
}

var misdeeds = []misdeed{
	{"a machine of others is changed", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) { s.VMs[r.bystander()].Conf["cores"] = "9" })
	}, `^VM \d+, which isn't ours, was changed: .*\+cores: 9`},
	{"a machine of others is destroyed", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) { delete(s.VMs, r.bystander()) })
	}, `^VM \d+, which isn't ours, was changed: .*\+gone`},
	{"a machine of others leaves its pool", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) { s.Pools["team"].VMs = map[int]bool{r.bystander(): true} })
	}, `^VM \d+, which isn't ours, was changed: .*\+pool team`},
	{"a request is about a machine of others", func(r *run, _ int) {
		r.misbehave(http.MethodPut, r.bystander(), "/config", "cores", "2")
	}, `^a request would change VM \d+, which isn't ours`},
	{"a process works for another set", func(r *run, id int) {
		r.misbehaves("two#99", http.MethodPut, id, "/config", "cores", "2")
	}, `^a process of another set changes VM`},
	{"there are two machines for one wish", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			twin := *s.VMs[id]
			twin.ID, twin.Run, twin.Conf = 7777, nil, pvesim.Conf{}
			_, m, _ := model.ParseDescription(s.VMs[id].Conf["description"])
			m.VMID = twin.ID
			twin.Conf["description"] = model.Describe("", m)
			s.VMs[twin.ID] = &twin
		})
	}, `^virtualmachine/vm-a of set one has 2 machines`},
	{"a machine is started again and again on a node with too few CPUs", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			for i := range mostInVain + 1 {
				s.Tasks["pve1"] = append(s.Tasks["pve1"], &pvesim.TaskInfo{
					UPID: fmt.Sprintf("UPID:pve1:0000%04X:00000000:00000000:qmstart:%d:root@pam!us:", i, id), Node: "pve1", Type: "qmstart", ID: fmt.Sprint(id), User: "root@pam!us",
					Start: time.Now(), End: time.Now(), Exit: "MAX 2 vcpus allowed per VM on this node",
				})
			}
		})
	}, `^VM \d+ was started 3 times on a node that has too few CPUs for it`},
	{"too much is asked of a storage at once", func(r *run, id int) {
		r.timeOut(id, mostInBurst*r.h.world.sets+1, 0)
	}, `^33 tasks of one#99 timed out waiting for the lock of a storage, and 0 that it began after`},
	{"too much is asked of a storage again", func(r *run, id int) {
		r.timeOut(id, mostTimeouts*r.h.world.sets+2, time.Minute)
	}, `^1 tasks of one#99 timed out waiting for the lock of a storage, and 13 that it began after`},
	{"a disk with data is destroyed", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			for _, sp := range s.Spaces {
				for name, v := range sp.Volumes {
					if v.VMID == id {
						delete(sp.Volumes, name)
					}
				}
			}
		})
	}, `^disk .* of VM \d+ \(virtualmachine/vm-a\) was destroyed, and nobody wanted that`},
	{"a disk with data is exchanged for an empty one", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			for _, sp := range s.Spaces {
				for name, v := range sp.Volumes {
					if v.VMID == id && v.Content == "images" {
						empty := *v
						empty.Name = strings.Replace(name, "disk-0", "disk-9", 1)
						delete(sp.Volumes, name)
						sp.Volumes[empty.Name] = &empty
						s.VMs[id].Conf["scsi0"] = strings.Replace(s.VMs[id].Conf["scsi0"], name, empty.Name, 1)
					}
				}
			}
		})
	}, `^disk .* of VM \d+ \(virtualmachine/vm-a\) was destroyed, and nobody wanted that`},
	{"a machine is destroyed that is wanted", func(r *run, id int) {
		r.misbehave(http.MethodDelete, id, "")
	}, `is wanted, and is to be destroyed`},
	{"a machine is stopped that is kept when it is pruned", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) {
			text, m, _ := model.ParseDescription(s.VMs[id].Conf["description"])
			m.Retain = true
			s.VMs[id].Conf["description"] = model.Describe(text, m)
		})
		r.sets[0].change(func() { r.sets[0].find("vm-a").unnamed = true })
		r.misbehave(http.MethodPost, id, "/status/stop")
	}, `is to stay since its deletionPolicy is Retain`},
	{"a machine is destroyed without a look", func(r *run, id int) {
		r.misbehave(http.MethodDelete, id, "")
	}, `is to be destroyed, and its config wasn't read right before`},
	{"a disk is removed that was left, and no plan says so", func(r *run, id int) {
		r.misbehaveAt("one#99", http.MethodDelete, "/nodes/pve1/storage/local/content/local:5999/vm-5999-disk-0.qcow2")
	}, `^nobody has planned it: DELETE .* takes local:5999/vm-5999-disk-0.qcow2 away`},
	{"an option is taken away, and no plan says so", func(r *run, id int) {
		r.misbehave(http.MethodPut, id, "/config", "delete", "ciuser")
	}, `^nobody has planned it: PUT .*/config takes \d+ away`},
	{"a machine is stopped that is to run", func(r *run, id int) {
		r.misbehave(http.MethodPost, id, "/status/stop")
	}, `is to stop, and nobody has allowed that`},
	{"a machine is rolled back twice", func(r *run, id int) {
		for range 2 {
			r.misbehave(http.MethodPost, id, "/snapshot/s1/rollback")
		}
	}, `is rolled back to s1 for the 2nd time because of one wish`},
	{"a locked machine isn't left alone", func(r *run, id int) {
		r.others.lock(id, 5*time.Minute)
		time.Sleep(lockNoticed + 10*time.Second)
		r.misbehave(http.MethodPut, id, "/config", "cores", "2")
	}, `has been locked for .*, and isn't left alone`},
	{"a lost request is sent again", func(r *run, id int) {
		r.fault(faultAfter, pvesim.Fault{Path: "/nodes/*/qemu/*/config", Method: "PUT", Drop: "after", Times: 1}, time.Minute)
		for range 2 {
			r.misbehave(http.MethodPut, id, "/config", "onboot", "0")
		}
	}, `^sent again though its answer was lost, and nobody has looked`},
	{"a machine isn't up to date", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["memory"] = "2048" })
		r.asWanted(r.sets[0])
	}, `virtualmachine/vm-a: VM \d+: memory should be 1024 and is 2048`},
	{"a machine isn't there", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["description"] = "" })
		r.asWanted(r.sets[0])
	}, `virtualmachine/vm-a isn't there`},
	{"what is wanted can't be", func(r *run, _ int) {
		r.sets[0].change(func() { r.sets[0].find("vm-a").Options["memory"] = "1" })
	}, `^virtualmachine/vm-a of set one is Failed in the end: configure VM`},
	{"what is to go is refused", func(r *run, id int) {
		r.sim.Do(func(s *pvesim.State) { s.VMs[id].Conf["protection"] = "1" })
		r.sets[0].change(func() { w := r.sets[0].find("vm-a"); w.Deleted, w.Update.Data = true, true })
	}, `^virtualmachine/vm-a of set one is Refused in the end`},
	{"somebody changes it again and again", func(r *run, id int) {
		go r.keepEditing(id, "tags", "x")
	}, `changes were made to set one though nothing was to be done|finds something to do|should be`},
	{"somebody changes what no list shows", func(r *run, id int) {
		go r.keepEditing(id, "ciuser", "mallory")
	}, `changes were made to set one though nothing was to be done|finds something to do|should be`},
	{"a machine is left behind", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) {
			s.VMs[7777] = &pvesim.VM{ID: 7777, Node: r.h.world.nodes[0], Conf: pvesim.Conf{"name": "forgotten"}}
		})
	}, `^VM 7777 is left behind`},
	{"a volume is left behind", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) {
			for _, sp := range s.Spaces {
				sp.Volumes["5999/vm-5999-disk-0.qcow2"] = &pvesim.Volume{Name: "5999/vm-5999-disk-0.qcow2", Content: "images", VMID: 5999}
				return
			}
		})
	}, `^volume .*5999/vm-5999-disk-0.qcow2 is left behind`},
	{"HA is left behind", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) { s.HA.Resources["vm:5999"] = map[string]string{} })
	}, `^HA still has vm:5999`},
	{"a pool is left with a machine", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) { s.Pools["lab"].VMs = map[int]bool{5999: true} })
	}, `^pool lab still has VM 5999, which is gone`},
	{"a task doesn't end", func(r *run, _ int) {
		r.sim.Do(func(s *pvesim.State) {
			s.Tasks["pve1"] = append(s.Tasks["pve1"], &pvesim.TaskInfo{UPID: "UPID:pve1:00000001:00000001:386D4380:qmstart:9999:root@pam:", Node: "pve1", Type: "qmstart", ID: "9999"})
		})
	}, `^tasks are running on and on`},
	{"a secret is written", func(r *run, _ int) { fmt.Fprintln(r, "password: "+guestSecret) }, `^a secret was written`},
	{"a secret is asked for in a URL", func(r *run, id int) {
		r.misbehave(http.MethodGet, id, "/config?password="+guestSecret)
	}, `^a secret is in a URL`},
	{"something waits without a reason", func(r *run, _ int) {
		r.reported(r.living()[0], engine.Report{Objects: []engine.Outcome{{State: engine.StateWaiting, Since: time.Now()}}}, nil)
	}, `without saying why in one line`},
	{"something waits since never", func(r *run, _ int) {
		r.reported(r.living()[0], engine.Report{Objects: []engine.Outcome{{State: engine.StateWaiting, Text: "for rain"}}}, nil)
	}, `doesn't say since when it waits`},
	{"a storm of requests", func(r *run, id int) {
		for range storm {
			r.misbehave(http.MethodGet, id, "/config")
		}
	}, `^900 requests of one process within a minute`},
	{"there is no end of requests", func(r *run, id int) {
		r.limit = 300
		for range 300 {
			r.misbehave(http.MethodGet, id, "/config")
			time.Sleep(time.Second)
		}
	}, `requests, and no end of it`},
	{"time goes on and on", func(*run, int) { time.Sleep(longestLife + time.Hour) }, `have passed, and no end of it`},
}

// TestEachCheckCanFail shows by a misdeed for each check that it can.
func TestEachCheckCanFail(t *testing.T) { areFound(t, misdeeds, misdeed.history) }

func TestWithoutAMisdeedNothingIsWrong(t *testing.T) { findsNothing(t, misdeed.history) }

// areFound checks that a check says of each misdeed what it should.
func areFound(t *testing.T, all []misdeed, history func(misdeed) *history) {
	for _, m := range all {
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			broken := live(t, history(m)).broken
			for _, text := range broken {
				if regexp.MustCompile(m.says).MatchString(text) {
					return
				}
			}
			t.Errorf("no check says %q, but %q", m.says, broken)
		})
	}
}

// findsNothing checks that nothing is wrong with a history that has no misdeed.
func findsNothing(t *testing.T, history func(misdeed) *history) {
	t.Helper()
	if broken := live(t, history(misdeed{what: "nothing", do: func(*run, int) {}})).broken; len(broken) > 0 {
		t.Errorf("%q", broken)
	}
}

// history is one of two sets, where nothing goes wrong but the misdeed.
func (m misdeed) history() *history {
	h := &history{seed: 1, world: drawWorld(1)}
	h.world.sets = 2
	v := model.VM{
		Name: "vm-a", Range: h.world.vmids, Source: model.Source{Blank: true}, Power: model.PowerOn,
		Options: map[string]string{"memory": "1024", "ciuser": "ann"}, Managed: []string{"ciuser", "memory"},
		Disks: []model.Disk{{Slot: "scsi0", Name: "root", Storage: "local", Size: 1 << 30, Format: "qcow2"}},
	}
	h.events = []event{
		{0, wishCreate, "vm-a is wanted", func(r *run) { r.sets[0].ask("vm-a", v) }},
		{0, rests, "rest", (*run).settle},
		{0, "misdeed", m.what, func(r *run) {
			r.watch.look()
			m.do(r, r.others.find(r.sets[0].owner("VirtualMachine", "vm-a")))
			r.watch.look()
		}},
	}
	return h
}

// bystander is a machine of others.
func (r *run) bystander() int { return r.h.world.Guests[len(r.h.world.Guests)-1].ID }

// timeOut has n tasks of a process time out waiting for the lock of a storage, one after the other.
func (r *run) timeOut(id, n int, apart time.Duration) {
	for i := range n {
		upid := fmt.Sprintf("UPID:pve1:0000%04X:00000000:00000000:qmdestroy:%d:root@pam!us:", i, id)
		r.trace.mu.Lock()
		r.trace.entries = append(r.trace.entries, &entry{who: "one#99", ours: true, method: http.MethodPost, status: http.StatusOK, answer: fmt.Sprintf("{%q:%q}", "data", upid)})
		r.trace.mu.Unlock()
		start := time.Now().Add(time.Duration(i) * apart)
		r.sim.Do(func(s *pvesim.State) {
			s.Tasks["pve1"] = append(s.Tasks["pve1"], &pvesim.TaskInfo{
				UPID: upid, Node: "pve1", Type: "qmdestroy", ID: fmt.Sprint(id), User: "root@pam!us", Start: start, End: start.Add(10 * time.Second), Exit: "WARNINGS: 1",
				Log: []string{"WARN: Could not remove disk 'local:1/vm-1-disk-0.qcow2', check manually: can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout"},
			})
		})
	}
}

// misbehave makes a request that one of us would never make.
func (r *run) misbehave(method string, id int, path string, params ...string) {
	r.misbehaves("one#99", method, id, path, params...)
}

func (r *run) misbehaves(who, method string, id int, path string, params ...string) {
	r.misbehaveAt(who, method, fmt.Sprintf("/nodes/%s/qemu/%d%s", r.others.nodeOf(id), id, path), params...)
}

func (r *run) misbehaveAt(who, method, path string, params ...string) {
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	req, err := http.NewRequest(method, "https://pve1:8006/api2/json"+path, strings.NewReader(form.Encode()))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "PVEAPIToken=root@pam!us="+ourSecret)
	if len(form) > 0 {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		req.Body = http.NoBody
	}
	r.mu.Lock()
	if r.rogue == nil {
		r.rogue = map[string]*wire{}
	}
	if r.rogue[who] == nil {
		r.rogue[who] = r.newWire(who, true)
	}
	w := r.rogue[who]
	r.mu.Unlock()
	if res, err := w.RoundTrip(req); err == nil {
		res.Body.Close()
	}
}

// keepEditing changes a machine for as long as the history lasts.
func (r *run) keepEditing(id int, key, value string) {
	for range 2000 {
		select {
		case <-r.done:
			return
		case <-time.After(10 * time.Second):
		}
		r.sim.Do(func(s *pvesim.State) {
			if vm := s.VMs[id]; vm != nil && vm.Conf["lock"] == "" {
				vm.Conf[key] = value
			}
		})
	}
}
