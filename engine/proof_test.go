package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestAMachineThatHasBecomeSomebodyElsesIsLeftAlone(t *testing.T) {
	for reason, change := range map[string]func(*model.Desired){
		"it was to be off": func(d *model.Desired) { d.VMs[0].Power, d.VMs[0].WaitAddress = model.PowerOff, false },
		"it was to have a snapshot": func(d *model.Desired) {
			d.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "before"), VM: key("VirtualMachine", "web"), Name: "before"}}
		},
		"it was to go":           func(d *model.Desired) { d.VMs[0].Deleted = true },
		"it was to be in a pool": func(d *model.Desired) { d.VMs[0].Pool = "team" },
	} {
		t.Run(reason, func(t *testing.T) {
			inLab(t, labWorld(1), func(t *testing.T, l *lab) {
				want := desired(machine("web"))
				e := l.engine()
				converge(t, e, want)
				time.Sleep(time.Minute)
				l.setConfig("web", "description", "mine now") // no list shows that
				id := 0
				for i := range l.ours() {
					id = i
				}
				change(&want)
				before := l.sim.RequestCount()
				if _, err := e.Converge(t.Context(), want, engine.Options{}); err != nil {
					t.Fatal(err)
				}
				got := l.ours()[id]
				if got["running"] != "1" || got["parent"] != "" || got["description"] != "mine now" {
					t.Errorf("VM %d: %v\n%v", id, got, l.requests(before))
				}
			})
		})
	}
}

func TestASnapshotDoesNotWaitForWhatAPersonHasToAllow(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		l.mustConverge(want)
		want.VMs[0].Options["cores"] = "8" // needs a restart that isn't allowed
		want.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "before"), VM: key("VirtualMachine", "web"), Name: "before"}}
		rep := l.converge(want)
		if vm, snap := rep.Objects[1], rep.Objects[2]; vm.State != engine.StateRefused || snap.State != engine.StateReady {
			t.Errorf("%s%s", describe(rep), l.story())
		}
	})
}

func TestWhatFailsForGoodIsReportedWithItsVMID(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		l.mustConverge(want)
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmstop", Error: "it can't be stopped"}); err != nil {
			t.Fatal(err)
		}
		want.VMs[0].Power, want.VMs[0].WaitAddress = model.PowerOff, false
		rep := l.converge(want)
		if vm := rep.Objects[1]; vm.State != engine.StateFailed || vm.VMID == 0 || vm.Node == "" {
			t.Errorf("%s", describe(rep))
		}
	})
}

func TestACopyThatSomebodyMadeByHandStaysTheirs(t *testing.T) {
	for reason, change := range map[string]func(*model.Desired){
		"the machine goes":             func(d *model.Desired) { d.VMs[0].Deleted = true },
		"the machine is pruned":        func(d *model.Desired) { d.VMs, d.Prune = nil, true },
		"the machine is to be another": func(d *model.Desired) { d.VMs[0].Options["memory"], d.VMs[0].Update.Restart = "2560", true },
	} {
		t.Run(reason, func(t *testing.T) {
			inLab(t, labWorld(1), func(t *testing.T, l *lab) {
				want := desired(machine("web"))
				l.mustConverge(want)
				l.somebody("web", "POST", "/clone", pve.Params{"newid": "7000", "name": "theirs"})
				time.Sleep(time.Minute)
				before := l.ours()[7000]
				change(&want)
				l.mustConverge(want)
				l.vanishIfThere("web")
				l.converge(want)
				after := l.ours()[7000]
				for k, v := range before {
					if after[k] != v {
						t.Errorf("%s was %q, is %q", k, v, after[k])
					}
				}
			})
		})
	}
}

// vanishIfThere lets somebody destroy a machine, so that only the copy is left.
func (l *lab) vanishIfThere(name string) {
	if l.named(name) != nil {
		l.vanish(name)
	}
}

func TestATaskThatWeStoppedToFollowIsStillWaitedFor(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		e := l.engine()
		want := desired(machine("web"))
		converge(t, e, want)
		want.VMs[0].Options["cores"], want.VMs[0].Update.Restart = "8", true
		ctx, cancel := context.WithCancelCause(t.Context())
		opts := engine.Options{Events: func(ev engine.Event) {
			if ev.Kind == engine.Progress { // the restart has begun
				cancel(errors.New("somebody has other wishes"))
			}
		}}
		e.Converge(ctx, want, opts)
		want.VMs[0].Power, want.VMs[0].WaitAddress = model.PowerOff, false
		before := l.sim.RequestCount()
		converge(t, e, want)
		reqs := l.requests(before)
		follows := slices.Index(reqs, "GET /nodes/pve1/tasks")
		changes := slices.IndexFunc(reqs, func(r string) bool { return !strings.HasPrefix(r, "GET ") })
		if follows < 0 || changes >= 0 && changes < follows {
			t.Errorf("the restart isn't waited for: %v", reqs)
		}
	})
}

func TestAMachineIsNotReadyByTagsFromBeforeItsChange(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		want.VMs[0].Update.Restart = true
		l.mustConverge(want)
		l.setConfig("web", "memory", "2560")
		time.Sleep(time.Minute)
		e := l.engine()
		converge(t, e, want)
		time.Sleep(time.Minute)
		before := l.sim.RequestCount()
		l.mustConverge(want)
		if n := writes(l.requests(before)); n != 0 {
			t.Errorf("%d changes were left for the next time: %v", n, l.requests(before))
		}
	})
}
