package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// stopAfter runs an engine that is stopped when it has done a step of that kind.
func (l *lab) stopAfter(kind string, want model.Desired) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	stopped := false
	_, _ = l.engine().Converge(ctx, want, engine.Options{Events: func(e engine.Event) {
		if e.Kind == engine.Done && e.Action == kind {
			stopped = true
			cancel()
		}
	}})
	if !stopped {
		l.t.Fatalf("there was no %s", kind)
	}
}

// haErrors leaves a resource in the state error: somebody destroys the machine while
// another one puts it under HA.
func (l *lab) haErrors(name string) {
	l.t.Helper()
	l.kill(name)
	var vmid int
	var at string
	l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) {
		vmid, at = vm.ID, fmt.Sprintf("/nodes/%s/qemu/%d", vm.Node, vm.ID)
	})
	var out any
	if err := l.client.Call(l.t.Context(), "DELETE", at, nil, &out); err != nil {
		l.t.Fatal(err)
	}
	if err := l.client.HA().AddResource(l.t.Context(), fmt.Sprintf("vm:%d", vmid), pve.HASettings{}); err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(time.Minute)
	l.sim.Do(func(s *pvesim.State) {
		if s.VMs[vmid] != nil || !s.HA.Failed[fmt.Sprintf("vm:%d", vmid)] {
			l.t.Fatal("the resource isn't in the state error")
		}
	})
}

func TestAMachineStartsThoughAnHAErrorIsLeftOfTheOneBefore(t *testing.T) {
	w := haWorld("9.2")
	w.Load.HARound = ms(10_000)
	inLab(t, w, func(t *testing.T, l *lab) {
		v := machine("web")
		v.WaitAddress = false
		l.mustConverge(desired(v))
		l.haErrors("web")
		v.HA = &model.HA{}
		l.mustConverge(desired(v))
		l.vm("web", func(s *pvesim.State, vm *pvesim.VM) {
			if sid := fmt.Sprintf("vm:%d", vm.ID); vm.Run == nil || s.HA.Failed[sid] || s.HA.Resources[sid]["state"] == "disabled" {
				t.Errorf("runs: %t, HA was told %v, failed: %t\n%s", vm.Run != nil, s.HA.Resources[sid], s.HA.Failed[sid], l.story())
			}
		})
	})
}

// Killed after the error was cleared, or before that shows, the next process goes on.
func TestAnHAErrorIsClearedByTheNextProcess(t *testing.T) {
	w := haWorld("8.4")
	w.Load.HARound = ms(10_000)
	for _, pause := range []time.Duration{0, 30 * time.Second} {
		inLab(t, w, func(t *testing.T, l *lab) {
			v := machine("web")
			v.WaitAddress = false
			l.mustConverge(desired(v))
			l.haErrors("web")
			v.HA = &model.HA{}
			l.stopAfter("SetHA", desired(v))
			time.Sleep(pause)
			l.mustConverge(desired(v))
			l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) {
				if vm.Run == nil {
					t.Errorf("it doesn't run:\n%s", l.story())
				}
			})
		})
	}
}

func TestAMachineThatHADoesNotGetStartedIsTriedOnceMore(t *testing.T) {
	inLab(t, haWorld("9.2"), func(t *testing.T, l *lab) {
		v := machine("web")
		v.HA, v.WaitAddress = &model.HA{}, false
		if _, err := l.sim.AddFault(pvesim.Fault{Task: "qmstart", Error: "start failed: QEMU exited with code 1"}); err != nil {
			t.Fatal(err)
		}
		opts := l.options()
		opts.Patience = 10 * time.Minute
		rep, err := l.engine().Converge(t.Context(), desired(v), opts)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Converged() || !strings.Contains(describe(rep), "the HA manager has given up on it again") {
			t.Errorf("%s%s", describe(rep), l.story())
		}
		clears := 0
		for _, e := range l.events {
			if e.Kind == engine.Done && e.Step == "clear its HA error" {
				clears++
			}
		}
		if clears != 2 { // the second time leaves it ready for the next apply
			t.Errorf("cleared %d times\n%s", clears, l.story())
		}
	})
}

// Somebody else has put it under HA: the way out is theirs.
func TestAnHAErrorOfOthersIsToldWithTheCommand(t *testing.T) {
	inLab(t, haWorld("9.2"), func(t *testing.T, l *lab) {
		v := machine("web")
		v.WaitAddress = false
		l.mustConverge(desired(v))
		l.haErrors("web")
		before := l.sim.RequestCount()
		rep := l.converge(desired(v))
		if rep.Converged() || !strings.Contains(describe(rep), "state error") || !strings.Contains(describe(rep), "--state disabled") {
			t.Errorf("%s%s", describe(rep), l.story())
		}
		for _, r := range l.requests(before) {
			if strings.Contains(r, "/cluster/ha/resources/vm:") && !strings.HasPrefix(r, "GET") {
				t.Errorf("a resource of somebody else's is changed: %s", r)
			}
		}
	})
}

// The task only asks the HA manager for a migration, which begins in one of its next rounds.
func TestTheHAManagerIsAskedOnceToMigrateAMachine(t *testing.T) {
	w := haWorld("9.2")
	w.Load.HARound = ms(15_000)
	inLab(t, w, func(t *testing.T, l *lab) {
		v := machine("web")
		v.HA, v.Source.Full, v.WaitAddress, v.Place.Nodes = &model.HA{}, true, false, []string{"pve1"}
		l.mustConverge(desired(v))
		v.Place.Nodes, v.Update.Move = []string{"pve2"}, true
		before := l.sim.RequestCount()
		l.mustConverge(desired(v))
		if node := l.named("web")["node"]; node != "pve2" {
			t.Errorf("it is on %s", node)
		}
		asked := 0
		for _, r := range l.requests(before) {
			if strings.HasPrefix(r, "POST") && strings.HasSuffix(r, "/migrate") {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times\n%s", asked, l.story())
		}
	})
}
