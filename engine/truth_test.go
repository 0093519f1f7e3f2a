package engine_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// mute takes the agent out of the lab's templates.
func mute(w *pvesim.World) *pvesim.World {
	for i := range w.Guests {
		w.Guests[i].System = pvesim.WithoutAgent
	}
	return w
}

func TestAMachineWithoutAnAddressIsReadyInNoProcess(t *testing.T) {
	inLab(t, mute(labWorld(1)), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		for n := range 3 {
			rep, err := l.engine().Converge(t.Context(), want, engine.Options{Patience: 9 * time.Second})
			if err != nil || rep.Converged() || !strings.Contains(describe(rep), "hasn't reported an address") {
				t.Errorf("run %d: %v\n%s", n+1, err, describe(rep))
			}
			if rep.Objects[1].Wait == nil || rep.Objects[1].Wait.Reason != model.WaitAgent {
				t.Errorf("run %d: it waits for %+v", n+1, rep.Objects[1].Wait)
			}
			time.Sleep(time.Minute) // until the lists show nothing to do
		}
		if p, err := l.engine().Plan(t.Context(), want); err != nil || p.Ready() || !p.Unchanged() {
			t.Errorf("%v, plan:\n%s", err, p)
		}
		s := l.serve(l.client)
		defer s.end()
		s.Want(want, nil)
		time.Sleep(10 * time.Minute)
		if web := s.of("web"); web.State != engine.StateWaiting || web.Wait == nil || web.Wait.Reason != model.WaitAgent {
			t.Errorf("a session says %+v", web)
		}
	})
}

// agentless takes the agent out of the configs of the lab's templates.
func agentless(w *pvesim.World) *pvesim.World {
	for i := range w.Guests {
		delete(w.Guests[i].Config, "agent")
	}
	return mute(w)
}

// A task that says OK may have done nothing. The answer of an agent proves that a machine
// runs; where its config has none, somebody has to look, whatever its manifest waits for.
func TestAMachineWithoutAnAgentIsReadyWhenItWasSeenToRun(t *testing.T) {
	for name, begin := range map[string]func(l *lab, s *session, vm *model.VM){
		"made": func(*lab, *session, *model.VM) {},
		"started": func(l *lab, s *session, vm *model.VM) {
			vm.Power, vm.WaitAddress = model.PowerOff, false
			s.Want(desired(*vm), nil)
			s.await("web", engine.StateReady)
			vm.Power, vm.WaitAddress = model.PowerOn, true
		},
		"whose agent goes with the restart": func(l *lab, s *session, vm *model.VM) {
			vm.Options["agent"] = "1"
			vm.WaitAddress, vm.Update = false, model.Allow{Restart: true, Stop: true}
			s.Want(desired(*vm), nil)
			s.await("web", engine.StateReady)
			vm.Options = maps.Clone(vm.Options)
			vm.Options["agent"], vm.Options["cores"] = "", "2"
			vm.WaitAddress = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, agentless(labWorld(1)), func(t *testing.T, l *lab) {
				var armed, ready bool
				s := l.newSession()
				s.after = func(o engine.Outcome) {
					if !armed || o.Owner.Name != "web" || o.State != engine.StateReady {
						return
					}
					ready = true
					if l.named("web")["running"] == "" {
						t.Errorf("it is ready, and doesn't run")
					}
				}
				l.serveWith(s, l.client, 0)
				defer s.end()
				vm := machine("web")
				begin(l, s, &vm)
				l.fault(pvesim.Fault{Task: "qmstart", Times: 2}) // says OK and does nothing
				s.mu.Lock()
				armed = true
				s.mu.Unlock()
				n := len(l.requests(0))
				s.Want(desired(vm), nil)
				time.Sleep(2 * time.Minute)
				s.await("web", engine.StateReady)
				starts := 0
				for _, r := range l.requests(n) {
					if strings.HasSuffix(r, "/status/start") {
						starts++
					}
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				if !ready || starts != 3 {
					t.Errorf("ready: %v, after %d starts; want three, of which one does it", ready, starts)
				}
			})
		})
	}
}

func TestAfterATakeoverMachinesAreReadyWithTheirAddresses(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		want := desired(machines(12)...)
		before := l.mustConverge(want)
		time.Sleep(time.Minute)
		s := l.serve(l.client)
		defer s.end()
		s.Want(want, nil)
		for _, o := range before.Objects[1:] {
			now := s.await(o.Owner.Name, engine.StateReady)
			if fmt.Sprint(now.Addresses) != fmt.Sprint(o.Addresses) || len(now.Addresses) == 0 {
				t.Errorf("%s had %v, and is ready with %v", o.Owner.Name, o.Addresses, now.Addresses)
			}
			if now.Verified.IsZero() {
				t.Errorf("%s is ready and wasn't verified", o.Owner.Name)
			}
		}
	})
}

// The cluster's list shows what a status round has seen, up to ten seconds ago, and
// tasks of others aren't visible to everybody.
func TestPowerStatesAreThoseOfNow(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(12)...)
		l.mustConverge(want)
		time.Sleep(time.Minute)
		for n := range 4 {
			name := fmt.Sprintf("web-%d", n)
			time.Sleep(time.Duration(3*n+1) * time.Second)
			l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) { vm.Run = nil })
			p, err := l.engine().Plan(t.Context(), want)
			if err != nil || p.Steps() != 1 || p.Unchanged() {
				t.Errorf("%s is off, and the plan is (%v):\n%s", name, err, p)
			}
			l.mustConverge(want)
			if l.named(name)["running"] == "" {
				t.Errorf("%s is off, and everything is said to be up to date", name)
			}
		}
	})
}

// reborn puts a half-made guest in the place of another one, under the same VMID, as a
// process does that was killed after a delete and an apply.
func (l *lab) reborn(name string) {
	l.vm(name, func(s *pvesim.State, vm *pvesim.VM) {
		conf := maps.Clone(vm.Conf)
		conf["memory"], conf["cores"] = "2048", "2"
		s.VMs[vm.ID] = &pvesim.VM{ID: vm.ID, Node: vm.Node, Conf: conf, Pending: pvesim.Conf{}, Snaps: map[string]*pvesim.Snap{}}
	})
}

func TestFiguresOfADeletedGuestAreNotThoseOfTheNextOneWithItsVMID(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		l.mustConverge(want)
		time.Sleep(time.Minute)
		l.reborn("web")
		l.mustConverge(want)
		if got := l.named("web"); got["running"] == "" || got["memory"] != "4096" || got["cores"] != "4" {
			t.Errorf("everything is said to be up to date, and it is %v", got)
		}
	})
}

func TestADeleteRightAfterAStartStopsFirst(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(seeded("web"))
		want.VMs[0].Power = model.PowerOff
		l.mustConverge(want)
		time.Sleep(time.Minute)
		l.somebody("web", "POST", "/status/start", nil)
		time.Sleep(2 * time.Second)
		before := l.sim.RequestCount()
		want.Delete()
		l.mustConverge(want)
		stopped := false
		for _, r := range l.requests(before) {
			stopped = stopped || strings.HasSuffix(r, "/status/stop")
			if strings.HasPrefix(r, "DELETE") && !stopped {
				t.Fatalf("%s while it ran", r)
			}
		}
		if !stopped {
			t.Error("it was never stopped")
		}
	})
}

// shortSighted is a client that may do all but see the machine of that name.
func (l *lab) shortSighted(name string) *pve.Client {
	l.t.Helper()
	var id int
	l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) { id = vm.ID })
	root := l.connect(pve.Password("root@pam", "secret"))
	for _, call := range []struct {
		method, path string
		params       pve.Params
	}{
		{"POST", "/access/users", pve.Params{"userid": "eve@pve", "password": "secret-of-eve"}},
		{"PUT", "/access/acl", pve.Params{"path": "/", "roles": "Administrator", "users": "eve@pve"}},
		{"PUT", "/access/acl", pve.Params{"path": fmt.Sprintf("/vms/%d", id), "roles": "NoAccess", "users": "eve@pve"}},
	} {
		var out any
		if err := root.Call(l.t.Context(), call.method, call.path, call.params, &out); err != nil {
			l.t.Fatal(err)
		}
	}
	return l.connect(pve.Password("eve@pve", "secret-of-eve"))
}

func TestAGuestThatIsNotVisibleIsNotGone(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		id := l.mustConverge(want).Objects[1].VMID
		gone := desired(machine("web"))
		gone.Delete()
		eve := l.shortSighted("web")
		for reason, want := range map[string]model.Desired{"delete": gone, "apply": want} {
			rep, err := engineOf(eve).Converge(t.Context(), want, engine.Options{})
			if err != nil || rep.Converged() || !strings.Contains(describe(rep), "isn't visible") || !strings.Contains(describe(rep), fmt.Sprintf("VM.Audit on /vms/%d", id)) {
				t.Errorf("%s: %v\n%s", reason, err, describe(rep))
			}
			p, err := engineOf(eve).Plan(t.Context(), want)
			if o := p.Objects[len(p.Objects)-1]; err != nil || o.Gone || o.Wait == nil || o.Wait.Reason != model.WaitUnseen {
				t.Errorf("plan for %s: %v\n%s", reason, err, p)
			}
			if n := len(l.ours()); n != 1 {
				t.Errorf("after %s there are %d machines", reason, n)
			}
		}
		s := l.serve(eve)
		defer s.end()
		gone.VMs[0].Remembered = id
		s.Want(gone, nil)
		time.Sleep(time.Minute)
		if web := s.of("web"); web.State != engine.StateWaiting || web.Wait == nil || web.Wait.Reason != model.WaitUnseen {
			t.Errorf("a session says %+v", web)
		}
		root := l.connect(pve.Password("root@pam", "secret"))
		var out any
		params := pve.Params{"path": fmt.Sprintf("/vms/%d", id), "roles": "NoAccess", "users": "eve@pve", "delete": "1"}
		if err := root.Call(t.Context(), "PUT", "/access/acl", params, &out); err != nil {
			t.Fatal(err)
		}
		s.await("web", engine.StateGone)
		if n := len(l.ours()); n != 0 {
			t.Errorf("%d machines are left", n)
		}
	})
}

func TestASessionVerifiesEachMachineWithinAnHour(t *testing.T) {
	inLab(t, labWorld(5), func(t *testing.T, l *lab) {
		const n = 400
		vms := machines(n)
		for i := range vms {
			vms[i].WaitAddress = false
		}
		want := desired(vms...)
		l.mustConverge(want)
		s := l.serve(l.client)
		defer s.end()
		s.Want(want, nil)
		for _, v := range vms {
			s.await(v.Name, engine.StateReady)
		}
		time.Sleep(time.Minute)
		for i := 0; i < n; i += 40 {
			// No list shows it.
			l.vm(fmt.Sprintf("web-%d", i), func(_ *pvesim.State, vm *pvesim.VM) { vm.Conf["ciuser"] = "bob" })
		}
		for range 60 {
			before := l.sim.RequestCount()
			time.Sleep(time.Minute)
			if got := l.sim.RequestCount() - before; got > 60 {
				t.Errorf("%d requests in a minute", got)
			}
		}
		now := time.Now()
		for id, conf := range l.ours() {
			if conf["ciuser"] != "ann" {
				t.Errorf("VM %d is as somebody changed it, after an hour", id)
			}
		}
		for _, v := range vms {
			if at := s.of(v.Name).Verified; now.Sub(at) > time.Hour+15*time.Minute {
				t.Errorf("%s was verified %v ago", v.Name, now.Sub(at))
			}
		}
	})
}

func TestASessionCorrectsARenameSoon(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(200)...)
		l.mustConverge(want)
		s := l.serve(l.client)
		defer s.end()
		s.Want(want, nil)
		for _, v := range want.VMs {
			s.await(v.Name, engine.StateReady)
		}
		time.Sleep(time.Minute)
		l.vm("web-7", func(_ *pvesim.State, vm *pvesim.VM) { vm.Conf["name"] = "mine" })
		time.Sleep(time.Minute)
		if l.named("web-7") == nil {
			t.Errorf("it is still called as somebody has named it")
		}
	})
}

func TestPlansCanBeQuick(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		l.mustConverge(want)
		time.Sleep(time.Minute)
		l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) { vm.Conf["ciuser"] = "bob" })
		want.Quick = true
		if p, err := l.engine().Plan(context.Background(), want); err != nil || !p.Ready() {
			t.Errorf("%v, plan:\n%s", err, p)
		}
	})
}

// Neither lists nor configs as such show these, and tasks of others aren't visible to
// everybody.
func TestASessionNoticesSnapshotsAndHAThatSomebodyChanged(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		want.VMs[0].HA = &model.HA{MaxRestart: 3}
		want.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "before"), VM: want.VMs[0].Owner.Key, Name: "before"}}
		s := l.serve(l.client)
		defer s.end()
		s.Want(want, nil)
		s.await("web", engine.StateReady)
		s.await("before", engine.StateReady)
		time.Sleep(time.Minute)
		var id int
		l.vm("web", func(st *pvesim.State, vm *pvesim.VM) {
			id = vm.ID
			delete(vm.Snaps, "before")
			delete(vm.Conf, "parent")
			st.HA.Resources[fmt.Sprintf("vm:%d", id)]["max_restart"] = "7"
		})
		time.Sleep(20 * time.Minute)
		// Its volumes are still there, so that it can't be taken again.
		if before := s.of("before"); before.State == engine.StateReady {
			t.Errorf("the snapshot is told as %+v", before)
		}
		l.vm("web", func(st *pvesim.State, vm *pvesim.VM) {
			if got := fmt.Sprint(st.HA.Resources[fmt.Sprintf("vm:%d", id)]["max_restart"]); got != "3" {
				t.Errorf("HA restarts it %s times", got)
			}
		})
	})
}
