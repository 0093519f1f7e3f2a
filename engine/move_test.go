package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// moving is a change that takes Proxmox long and can go wrong in the middle: a machine and
// what it becomes.
type moving struct {
	request string // that begins it
	task    string
	was, is model.VM
	moved   func(l *lab) string // what isn't as it should be then; empty: nothing
}

// movedSize is the size of a disk that no other volume has.
const movedSize = 3 << 30

// movingDisk takes a data disk to another storage.
func movingDisk() moving {
	was := machine("web")
	was.Disks = append(was.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local-lvm", Size: movedSize})
	is := was
	is.Disks = slices.Clone(was.Disks)
	is.Disks[1].Storage = "nfs"
	return moving{request: "/nodes/*/qemu/*/move_disk", task: "qmmove", was: was, is: is, moved: func(l *lab) string {
		return l.onlyOn(movedSize, "nfs")
	}}
}

// movingMachine takes a machine with its local disks to another node, while it runs or not.
func movingMachine(power model.Power) moving {
	was := machine("web")
	was.Source.Full, was.Power, was.Place.Nodes = true, power, []string{"pve1"}
	was.WaitAddress = power == model.PowerOn
	was.Disks = append(was.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local-lvm", Size: movedSize})
	is := was
	is.Place.Nodes, is.Update.Move = []string{"pve2"}, true
	return moving{request: "/nodes/*/qemu/*/migrate", task: "qmigrate", was: was, is: is, moved: func(l *lab) string {
		if node := l.named("web")["node"]; node != "pve2" {
			return "it is on " + node
		}
		return l.onlyOn(movedSize, "pve2/local-lvm")
	}}
}

// onlyOn says where else, or not at all, volumes of a size are; empty: there is one, and it
// is there.
func (l *lab) onlyOn(size int64, place string) string {
	var places []string
	l.sim.Do(func(s *pvesim.State) {
		for at, space := range s.Spaces {
			for _, v := range space.Volumes {
				if v.Size == size {
					places = append(places, strings.TrimPrefix(at.Node+"/"+at.Storage, "/"))
				}
			}
		}
	})
	if slices.Equal(places, []string{place}) {
		return ""
	}
	return fmt.Sprintf("disks of that size are on %q, want %s", places, place)
}

func movings() map[string]moving {
	return map[string]moving{
		"disk": movingDisk(), "running machine": movingMachine(model.PowerOn), "stopped machine": movingMachine(model.PowerOff),
	}
}

func (m moving) check(l *lab) {
	l.t.Helper()
	l.mustConverge(desired(m.is))
	l.check(desired(m.is))
	if wrong := m.moved(l); wrong != "" {
		l.t.Errorf("%s\n%s", wrong, l.story())
	}
	before := l.sim.RequestCount()
	l.mustConverge(desired(m.is))
	if n := writes(l.requests(before)); n > 0 {
		l.t.Errorf("%d writes though nothing is to be done: %v", n, l.requests(before))
	}
}

func TestDisksAndMachinesMoveThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	for name, m := range movings() {
		t.Run(name, func(t *testing.T) {
			for _, after := range []bool{false, true} {
				for n, killed := 1, true; killed; n++ {
					inLab(t, labWorld(2), func(t *testing.T, l *lab) {
						l.mustConverge(desired(m.was))
						killed = l.runUntil(desired(m.is), n, after)
						m.check(l)
					})
					if t.Failed() {
						t.Fatalf("killed at request %d, when it was done: %v", n, after)
					}
				}
			}
		})
	}
}

func TestDisksAndMachinesMoveThroughTroubles(t *testing.T) {
	for name, m := range movings() {
		for reason, f := range map[string]pvesim.Fault{
			"the task fails":                        {Task: m.task, Error: "command 'copy' failed: exit code 255", Times: 2},
			"the task fails though it was done":     {Task: m.task, Error: "interrupted by signal", Mode: "after", Times: 1},
			"the task says OK and has done nothing": {Task: m.task, Times: 1},
			"the task begins late":                  {Task: m.task, Delay: ms(40_000), Times: 1},
			"the request is lost":                   {Method: "POST", Path: m.request, Drop: "before", Times: 2},
			"the answer is lost":                    {Method: "POST", Path: m.request, Drop: "after", Times: 1},
			"the answer is late":                    {Method: "POST", Path: m.request, Delay: ms(45_000), Times: 1},
			"the node doesn't answer":               {Method: "POST", Path: m.request, Status: 595, Reason: "Connection timed out", Times: 2},
			"Proxmox fails":                         {Method: "POST", Path: m.request, Status: 500, Reason: "got timeout", Times: 1},
			"somebody holds the machine":            {Method: "POST", Path: m.request, Hold: "config", For: ms(20_000), Times: 1},
			"the storage is locked":                 {Method: "POST", Path: m.request, Hold: "storage:local-lvm", For: ms(90_000), Times: 1},
		} {
			t.Run(name+"/"+reason, func(t *testing.T) {
				inLab(t, labWorld(2), func(t *testing.T, l *lab) {
					l.mustConverge(desired(m.was))
					before := l.named("web")
					l.fault(f)
					m.check(l)
					if faults := l.sim.Faults(); len(faults) != 1 || faults[0].Struck == 0 {
						t.Errorf("nothing went wrong: %+v", faults)
					}
					if after := l.named("web"); after["vmgenid"] != before["vmgenid"] {
						t.Error("it is another machine")
					}
				})
			})
		}
	}
}

// Somebody stops the task in the middle, and one of us is killed beside it.
func TestDisksAndMachinesMoveThoughTheTaskIsStoppedInTheMiddle(t *testing.T) {
	for name, m := range movings() {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %t", name, killed), func(t *testing.T) {
				w := labWorld(2)
				w.Timing.ClonePerGiB, w.Timing.Migrate = ms(5_000), ms(20_000)
				inLab(t, w, func(t *testing.T, l *lab) {
					l.mustConverge(desired(m.was))
					stopped := false
					done := make(chan struct{})
					go func() {
						defer close(done)
						stopped = l.stopTask(m.task)
					}()
					if killed {
						l.dieInTask(desired(m.is))
					} else {
						l.converge(desired(m.is))
					}
					<-done
					if !stopped {
						t.Fatal("there was no such task")
					}
					m.check(l)
				})
			})
		}
	}
}

// dieInTask runs an engine that is stopped a second after it has begun to move something.
func (l *lab) dieInTask(want model.Desired) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	_, _ = l.engine().Converge(ctx, want, engine.Options{Events: func(e engine.Event) {
		if e.Kind == engine.Started && (e.Action == "MoveDisk" || e.Action == "Migrate") {
			time.AfterFunc(time.Second, cancel)
		}
	}})
	if ctx.Err() == nil {
		l.t.Fatal("nothing was moved")
	}
}

// stopTask waits for a task and stops it a little later; it reports whether there was one.
func (l *lab) stopTask(kind string) bool {
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		var upid, node string
		l.sim.Do(func(s *pvesim.State) {
			for at, list := range s.Tasks {
				for _, task := range list {
					if task.Type == kind && task.Running() {
						upid, node = task.UPID, at
					}
				}
			}
		})
		if upid == "" {
			continue
		}
		time.Sleep(2 * time.Second)
		var out any
		if err := l.client.Call(l.t.Context(), "DELETE", fmt.Sprintf("/nodes/%s/tasks/%s", node, upid), nil, &out); err != nil {
			l.t.Error(err)
		}
		return true
	}
	return false
}

// A node is drained, and its machine brought back, though the process dies at any request.
func TestADrainEndsThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	was := machine("web")
	was.Source.Full, was.Power = true, model.PowerOn
	was.Disks = append(was.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local-lvm", Size: movedSize})
	asked := func(m model.Move) model.Desired {
		want := desired(was)
		want.Moves = map[model.Key]model.Move{was.Owner.Key: m}
		return want
	}
	for _, after := range []bool{false, true} {
		for n, killed := 1, true; killed; n++ {
			inLab(t, labWorld(2), func(t *testing.T, l *lab) {
				l.mustConverge(desired(was))
				from := l.named("web")["node"]
				to := map[string]string{"pve1": "pve2", "pve2": "pve1"}[from]
				drain := asked(model.Move{From: from, Home: from})
				killed = l.runUntil(drain, n, after)
				l.mustConverge(drain)
				if vm := l.named("web"); vm["node"] != to || !strings.Contains(vm["description"], `"home":"`+from+`"`) {
					t.Errorf("it is on %s: %s", vm["node"], vm["description"])
				}
				back := asked(model.Move{From: to, To: from})
				killed = l.runUntil(back, n, after) || killed
				l.mustConverge(back)
				if vm := l.named("web"); vm["node"] != from || strings.Contains(vm["description"], `"home"`) {
					t.Errorf("it is on %s: %s", vm["node"], vm["description"])
				}
				if wrong := l.onlyOn(movedSize, from+"/local-lvm"); wrong != "" {
					t.Error(wrong)
				}
				l.mustConverge(desired(was))
				l.check(desired(was))
			})
			if t.Failed() {
				t.Fatalf("killed at request %d, when it was done: %v", n, after)
			}
		}
	}
}
