package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func (l *lab) fault(f pvesim.Fault) {
	l.t.Helper()
	if _, err := l.sim.AddFault(f); err != nil {
		l.t.Fatal(err)
	}
}

func TestLostAnswersAreNotSentAgainBlindly(t *testing.T) {
	for _, path := range []string{"/nodes/*/qemu/*/clone", "/nodes/*/qemu/*/config", "/nodes/*/qemu/*/resize", "/nodes/*/qemu/*/status/start", "/nodes/*/storage/*/upload"} {
		for _, drop := range []string{"before", "after"} {
			inLab(t, labWorld(2), func(t *testing.T, l *lab) {
				for _, method := range []string{"POST", "PUT"} {
					l.fault(pvesim.Fault{Method: method, Path: path, Drop: drop, Times: 1})
				}
				want := desired(seeded("web"))
				l.mustConverge(want)
				l.check(want)
				sent := 0
				for _, r := range l.requests(0) {
					if strings.HasPrefix(r, "POST") && strings.HasSuffix(r, "/clone") {
						sent++
					}
				}
				if drop == "after" && sent != 1 {
					t.Errorf("%d clones were asked for", sent)
				}
			})
		}
	}
}

// What was lost may be under way: whoever can't look whether it is doesn't ask for
// it again.
func TestLostClonesAreNotSentAgainBeforeTheListsWereSeen(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.fault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Drop: "before", Times: 1})
		const blind = 20
		var once sync.Once
		opts := l.options()
		opts.Events = func(e engine.Event) {
			if e.Kind == engine.Failed {
				once.Do(func() { l.fault(pvesim.Fault{Path: "/cluster/**", Drop: "before", Times: blind}) })
			}
		}
		want := desired(machine("web"))
		rep, err := l.engine().Converge(context.Background(), want, opts)
		if err != nil || !rep.Converged() {
			t.Fatalf("%v\n%s", err, describe(rep))
		}
		isClone := func(r string) bool { return strings.HasSuffix(r, "/clone") }
		requests := l.requests(0)
		requests = requests[slices.IndexFunc(requests, isClone)+1:]
		if n := slices.IndexFunc(requests, isClone); n < blind {
			t.Errorf("it was sent again after %d requests: %v", n, requests[:n+1])
		}
		l.check(want)
	})
}

func TestTasksThatFailAreTriedAgain(t *testing.T) {
	for _, task := range []string{"qmclone", "resize", "qmstart", "imgcopy"} {
		for _, mode := range []string{"instead", "after"} {
			inLab(t, labWorld(2), func(t *testing.T, l *lab) {
				l.fault(pvesim.Fault{Task: task, Error: "something went wrong", Mode: mode, Times: 1})
				want := desired(seeded("web"))
				l.mustConverge(want)
				l.check(want)
			})
		}
	}
}

func TestTasksThatDoNothingAndSayOKAreNoticed(t *testing.T) {
	for _, task := range []string{"qmclone", "resize", "qmstart"} {
		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			l.fault(pvesim.Fault{Task: task, Times: 1})
			vm := machine("web")
			vm.WaitAddress = task != "qmstart"
			want := desired(vm)
			l.mustConverge(want)
			l.check(want)
		})
	}
}

func TestAMachineIsNotMadeAnewBeforeTheOldOneIsSeenToBeGone(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.keys = testKeys // or nobody would know that VM 120 is ours
		vm := machine("web")
		vm.VMID = 120
		l.mustConverge(desired(vm))
		vm.VMID = 130
		want := desired(vm)
		want.Allow.Replace = true
		l.fault(pvesim.Fault{Task: "qmdestroy", Times: 2}) // says OK and does nothing
		n := len(l.requests(0))
		l.mustConverge(want)
		l.check(want)
		var writes []string
		for _, r := range l.requests(n) {
			if strings.HasPrefix(r, "DELETE ") || strings.HasSuffix(r, "/clone") {
				writes = append(writes, r[:strings.Index(r, " ")])
			}
		}
		if got := strings.Join(writes, " "); got != "DELETE DELETE DELETE POST" {
			t.Errorf("%s: want three destroys, of which one does it, and then a clone", got)
		}
	})
}

func TestWhatIsDoneAgainAndAgainToNoEffectIsGivenUp(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.fault(pvesim.Fault{Task: "resize"}) // says OK and does nothing
		rep := l.converge(desired(machine("web")))
		if o := rep.Objects[1]; o.State != engine.StateFailed || !strings.Contains(o.Text, "nothing has changed") {
			t.Errorf("%s", describe(rep))
		}
	})
}

func TestWhatFailsEachTimeIsGivenUpWithTheReason(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.fault(pvesim.Fault{Task: "qmstart", Error: "no such CPU model"})
		start := time.Now()
		rep := l.converge(desired(machine("web"), machine("db")))
		if rep.Converged() || time.Since(start) > 2*time.Minute {
			t.Errorf("after %v:\n%s", time.Since(start), describe(rep))
		}
		for _, o := range rep.Objects[1:] {
			if o.State != engine.StateFailed || !strings.Contains(o.Text, "no such CPU model") || !strings.Contains(o.Text, "start VM") {
				t.Errorf("%s is %s: %s", o.Owner.Key, o.State, o.Text)
			}
		}
		l.sim.RemoveFault(0)
		l.mustConverge(desired(machine("web"), machine("db")))
	})
}

func TestWrongCredentialsEndItAtOnce(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		l.client = l.connect(pve.Token("root@pam!lab", "00000000-0000-0000-0000-000000000000"))
		rep, err := l.engine().Converge(context.Background(), desired(machine("web")), engine.Options{})
		if !errors.Is(err, pve.ErrUnauthorized) || rep.Converged() && len(rep.Objects) > 0 {
			t.Errorf("%v\n%s", err, describe(rep))
		}
	})
}

func TestForeignMachinesOnOurVMIDAreLeftAlone(t *testing.T) {
	vm := machine("web")
	var first int
	for id := range vm.Owner.Candidates(vm.Range) {
		first = id
		break
	}
	w := labWorld(2)
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: first, Node: "pve2", Running: true, Config: map[string]string{"name": "theirs", "memory": "1024", "scsi0": "local-lvm:4"}})
	inLab(t, w, func(t *testing.T, l *lab) {
		before := l.ours()[first]
		l.mustConverge(desired(vm))
		if got := l.named("web"); got == nil {
			t.Error("no machine was made")
		}
		other := machine("other")
		other.VMID, vm.VMID = first, first
		rep := l.converge(desired(vm, other))
		if o := rep.Objects[1]; o.State != engine.StateRefused || !strings.Contains(o.Text, "its VMID is") {
			t.Errorf("%s", describe(rep))
		}
		if o := rep.Objects[2]; o.State != engine.StateWaiting || !strings.Contains(o.Text, "isn't ours") {
			t.Errorf("%s", describe(rep))
		}
		vm.Deleted = true
		l.mustConverge(desired(vm))
		after := l.ours()[first]
		if len(after) != len(before) {
			t.Errorf("it was\n%v, it is\n%v", before, after)
		}
		for k, v := range before {
			if after[k] != v {
				t.Errorf("%s was %q, is %q", k, v, after[k])
			}
		}
	})
}

func TestWaitsForLocksOfOthers(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		l.setConfig("web", "lock", "backup")
		go func() {
			time.Sleep(40 * time.Second)
			l.somebody("web", "PUT", "/config", pve.Params{"delete": "lock", "skiplock": "1"})
		}()
		vm.Options["cores"] = "2"
		vm.Update.Restart = true
		start := time.Now()
		l.mustConverge(desired(vm))
		if took := time.Since(start); took < 40*time.Second || took > time.Minute {
			t.Errorf("it took %v", took)
		}
		l.check(desired(vm))
	})
}

func TestLocksThatStayAreWaitedForOnlySoLong(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		l.setConfig("web", "lock", "backup")
		vm.Options["cores"] = "2"
		opts := l.options()
		opts.Patience = time.Minute
		start := time.Now()
		rep, err := l.engine().Converge(context.Background(), desired(vm), opts)
		if o := rep.Objects[1]; err != nil || o.State != engine.StateWaiting || !strings.Contains(o.Text, "locked (backup)") {
			t.Errorf("%v\n%s", err, describe(rep))
		}
		if took := time.Since(start); took < time.Minute || took > 70*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestHeldLockFilesAreWaitedFor(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.fault(pvesim.Fault{Method: "PUT", Path: "/nodes/*/qemu/*/config", Hold: "config", For: ms(25000), Times: 1})
		want := desired(machine("web"))
		l.mustConverge(want)
		l.check(want)
	})
}

func TestANodeThatIsAwayForAWhileIsWaitedFor(t *testing.T) {
	for _, path := range []string{"/nodes/*/qemu/*/clone", "/nodes/*/tasks", "/nodes/*/qemu/*/status/start", "/nodes/*/qemu/*/pending"} {
		inLab(t, labWorld(3), func(t *testing.T, l *lab) {
			l.fault(pvesim.Fault{Path: path, Node: "pve2", Away: "pve2", For: ms(30000), Times: 1})
			vm := machine("web")
			vm.Place.Nodes = []string{"pve2"}
			want := desired(vm)
			l.mustConverge(want)
			l.check(want)
		})
	}
}

func TestMachinesThatWereMovedByHandAreFound(t *testing.T) {
	w := labWorld(3)
	for _, g := range w.Guests {
		g.Config["scsi0"], g.Config["ide2"] = "nfs:8", "nfs:cloudinit"
	}
	inLab(t, w, func(t *testing.T, l *lab) {
		vm := machine("web")
		e := l.engine()
		converge(t, e, desired(vm))
		l.vm("web", func(_ *pvesim.State, m *pvesim.VM) { m.Node = "pve3" })
		vm.Options["memory"] = "8192"
		vm.Update.Restart = true
		converge(t, e, desired(vm))
		if conf := l.named("web"); conf["node"] != "pve3" || conf["memory"] != "8192" {
			t.Errorf("%v", conf)
		}
	})
}

func TestProxmoxThatFailsNowAndThenIsLivedWith(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		l.fault(pvesim.Fault{Drop: "after", Probability: 0.05})
		l.fault(pvesim.Fault{Drop: "before", Probability: 0.05})
		l.fault(pvesim.Fault{Status: 596, Reason: "Connection timed out", Probability: 0.03})
		want := desired(machines(12)...)
		l.mustConverge(want)
		l.check(want)
	})
}

func TestInterruptionLeavesTasksRunningAndTheNextRunGoesOn(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(6)...)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // all are being cloned
		defer cancel()
		start := time.Now()
		rep, err := l.engine().Converge(ctx, want, engine.Options{})
		if !errors.Is(err, context.DeadlineExceeded) || rep.Converged() || time.Since(start) != time.Second {
			t.Fatalf("after %v: %v\n%s", time.Since(start), err, describe(rep))
		}
		l.mustConverge(want)
		l.check(want)
		for _, r := range l.requests(0) {
			if strings.HasPrefix(r, "DELETE") {
				t.Errorf("%s", r)
			}
		}
		if n := len(slices.DeleteFunc(l.requests(0), func(r string) bool { return !strings.HasSuffix(r, "/clone") })); n != 6 {
			t.Errorf("%d clones were asked for", n)
		}
	})
}

// While Proxmox can't get the lock of a storage it destroys guests without their
// disks.
func TestDisksThatADestructionLeavesAreRemoved(t *testing.T) {
	world := labWorld(1)
	world.Locks.Storage = 1
	inLab(t, world, func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		l.mustConverge(want)
		l.fault(pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/*", Hold: "storage:local-lvm", For: ms(60_000), Times: 1})
		want.VMs[0].Deleted = true
		l.mustConverge(want)
		if !strings.Contains(l.story(), "Proxmox couldn't remove it") {
			t.Errorf("nothing was left:\n%s", l.story())
		}
		l.check(want)
	})
}

// A full storage isn't asked by each machine on its own: together they try about once
// a second, and go on as soon as there is room.
func TestManyMachinesForAFullStorageTryTogetherNoMoreThanOnceASecond(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		const crowd, full = 30, 45 * time.Second
		fill := func(sign int64) {
			l.sim.Do(func(s *pvesim.State) {
				for key, sp := range s.Spaces {
					if key.Storage == "local-lvm" {
						sp.Base += sign * (8 << 40)
					}
				}
			})
		}
		fill(1)
		go func() {
			time.Sleep(full)
			fill(-1)
		}()
		want := desired(machines(crowd)...)
		begun := time.Now()
		l.mustConverge(want)
		l.check(want)
		tries := 0
		for _, r := range l.requests(0) {
			if strings.HasPrefix(r, "POST") && strings.HasSuffix(r, "/clone") {
				tries++
			}
		}
		if most := crowd + int(full/time.Second) + crowd; tries > most {
			t.Errorf("%d clones were asked for, at most %d are expected", tries, most)
		}
		if took := time.Since(begun); took > full+2*time.Minute {
			t.Errorf("it took %v after there was room", took-full)
		}
	})
}
