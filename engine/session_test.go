package engine_test

import (
	"errors"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// serving runs a test with a session.
func serving(t *testing.T, test func(t *testing.T, l *lab, s *session)) {
	t.Helper()
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		s := l.serve(l.client)
		defer s.end()
		test(t, l, s)
	})
}

func TestASessionMakesWhatIsWantedLater(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("one")), nil)
		one := s.await("one", engine.StateReady)
		if one.Status != model.StatusRunning || len(one.Addresses) == 0 {
			t.Errorf("it is told as %+v", one)
		}
		s.Want(desired(machine("one"), machine("two")), nil)
		s.await("two", engine.StateReady)
		gone := machine("one")
		gone.Deleted = true
		s.Want(desired(gone, machine("two")), nil)
		s.await("one", engine.StateGone)
		if len(l.ours()) != 1 {
			t.Errorf("there are %d machines", len(l.ours()))
		}
		s.Want(desired(), nil)
		time.Sleep(5 * time.Minute)
		if l.named("two") == nil {
			t.Error("what isn't named any more was removed")
		}
	})
}

func TestAChangeWhileACloneRunsIsMade(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("web")), nil)
		if o := s.await("web", engine.StateChanging); o.Task != "" && o.VMID == 0 {
			t.Errorf("it is told as %+v", o)
		}
		larger := machine("web")
		larger.Options = map[string]string{"cores": "8", "memory": "8192", "ciuser": "ann"}
		s.Want(desired(larger), nil)
		s.await("web", engine.StateReady)
		if conf := l.named("web"); conf["cores"] != "8" || conf["memory"] != "8192" {
			t.Errorf("it has %s cores and %s MiB", conf["cores"], conf["memory"])
		}
		if len(l.ours()) != 1 {
			t.Errorf("there are %d machines", len(l.ours()))
		}
	})
}

func TestADeletionWhileACloneRunsLeavesNothing(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("web")), nil)
		s.await("web", engine.StateChanging)
		time.Sleep(time.Second)
		gone := machine("web")
		gone.Deleted = true
		s.Want(desired(gone), nil)
		s.await("web", engine.StateGone)
		if len(l.ours()) != 0 {
			t.Errorf("there is still %v", l.ours())
		}
	})
}

func TestASessionGoesOnWhenProxmoxIsBack(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("one")), nil)
		s.await("one", engine.StateReady)
		id, err := l.sim.AddFault(pvesim.Fault{Path: "**", Drop: "before"})
		if err != nil {
			t.Fatal(err)
		}
		s.Want(desired(machine("one"), machine("two")), nil)
		s.await("two", engine.StateWaiting)
		time.Sleep(10 * time.Minute)
		if two := s.of("two"); two.Wait == nil || two.Wait.Reason != model.WaitAway {
			t.Errorf("it is told as %+v", two)
		}
		if s.of("one").State != engine.StateReady {
			t.Errorf("what was ready is told as %+v", s.of("one"))
		}
		l.sim.RemoveFault(id)
		s.await("two", engine.StateReady)
		if w := s.away(); w != nil {
			t.Errorf("trouble isn't over: %+v", w)
		}
	})
}

// A Proxmox that takes longer to answer than we rest is waited for: whoever asks all the
// time whether it has answered stops the clock of this test.
func TestASessionWaitsForAnAnswerThatTakesLong(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		s := l.serve(l.client)
		defer s.end()
		l.fault(pvesim.Fault{Path: "/cluster/resources", Delay: ms(50_000), Times: 3})
		s.Want(desired(machine("web")), nil)
		time.Sleep(5 * time.Minute)
		if o := s.of("web"); o.State != engine.StateReady {
			t.Errorf("web is %s: %s", o.State, o.Text)
		}
	})
}

func TestASessionWaitsForALoginThatWorks(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		client := l.connect(pve.Token("root@pam!lab", "00000000-0000-0000-0000-000000000000"))
		s := l.serve(client)
		defer s.end()
		s.Want(desired(machine("web")), nil)
		o := s.await("web", engine.StateWaiting)
		if o.Wait.Reason != model.WaitLogin {
			t.Errorf("it waits for %+v", o.Wait)
		}
		if err := client.SetCredentials(pve.Token("root@pam!lab", secret)); err != nil {
			t.Fatal(err)
		}
		s.Look()
		s.await("web", engine.StateReady)
	})
}

func TestNothingIsMadeBeforeItsVMIDIsWrittenDown(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		claimed, broken := 0, true
		s.claim = func(vmid int) error {
			if broken {
				return errors.New("the notebook is away")
			}
			claimed = vmid
			return nil
		}
		s.Want(desired(machine("web")), nil)
		time.Sleep(15 * time.Minute)
		if len(l.ours()) != 0 {
			t.Fatalf("it was made under a VMID that nobody knows: %v", l.ours())
		}
		s.mu.Lock()
		broken = false
		s.mu.Unlock()
		s.await("web", engine.StateReady)
		if l.ours()[claimed]["name"] != "web" {
			t.Errorf("VMID %d was written down, but there is %v", claimed, l.ours())
		}
	})
}

func TestWhatFailsEachTimeIsTriedAgainLater(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		id, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Status: 403, Reason: "Permission check failed (/vms/9000, VM.Clone)"})
		if err != nil {
			t.Fatal(err)
		}
		s.Want(desired(machine("web")), nil)
		s.await("web", engine.StateFailed)
		time.Sleep(time.Hour)
		if n := s.count(engine.Failed); n > 15 {
			t.Errorf("it failed %d times in an hour", n)
		}
		l.sim.RemoveFault(id)
		s.await("web", engine.StateReady)
	})
}

func TestAtRestNothingIsToldButThatItWasVerified(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machines(5)...), nil)
		for _, v := range machines(5) {
			s.await(v.Name, engine.StateReady)
		}
		time.Sleep(time.Minute)
		was := s.of("web-0")
		told, events := s.heard("web-0")
		// A backup comes by, which locks the machine for a while.
		l.vm("web-0", func(_ *pvesim.State, vm *pvesim.VM) { vm.Conf["lock"] = "backup" })
		time.Sleep(5 * time.Minute)
		l.vm("web-0", func(_ *pvesim.State, vm *pvesim.VM) { delete(vm.Conf, "lock") })
		time.Sleep(time.Hour)
		is := s.of("web-0")
		if !is.Verified.After(was.Verified.Add(30 * time.Minute)) {
			t.Errorf("it was verified at %v, and again at %v", was.Verified, is.Verified)
		}
		if is.Verified = was.Verified; !reflect.DeepEqual(is, was) {
			t.Errorf("it was told as %+v, and then as %+v", was, is)
		}
		toldThen, eventsThen := s.heard("web-0")
		if n := toldThen - told; n > 7 || eventsThen != events {
			t.Errorf("told %d times more, %d events:\n%s", n, eventsThen-events, l.story())
		}
	})
}

func TestAMachineThatIsStoppedManyTimesIsStartedEachTime(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("web")), nil)
		s.await("web", engine.StateReady)
		for n := range 8 {
			l.kill("web")
			time.Sleep(2 * time.Minute)
			if l.named("web")["running"] == "" {
				t.Fatalf("it wasn't started the %d. time\n%s", n+1, l.story())
			}
		}
	})
}

// What isn't wanted any more is left alone: a call that is in flight ends, and nothing
// follows it.
func TestWhatIsReleasedIsLeftAlone(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		web := machine("web")
		web.Owner.UID = "1234"
		s.Want(desired(web), nil)
		s.await("web", engine.StateReady)
		if !s.Touches("1234") {
			t.Error("nobody looks after what is wanted")
		}
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/status/stop", Delay: pvesim.Duration(20 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		gone := web
		gone.Deleted = true
		s.Want(desired(gone), nil)
		s.await("web", engine.StateChanging)
		time.Sleep(5 * time.Second)
		s.Want(desired(), nil)
		if !s.Touches("1234") {
			t.Error("a call is in flight, and it is told that there is none")
		}
		time.Sleep(10 * time.Minute)
		if s.Touches("1234") {
			t.Error("calls are in flight for ever")
		}
		if l.named("web") == nil {
			t.Error("what isn't wanted any more was destroyed")
		}
	})
}

// What was ready before Proxmox went away is told anew when it is back, by what there is
// then: nothing says in between that it is ready still.
func TestWhatChangedWhileProxmoxWasAwayIsTold(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("one"), machine("two")), nil)
		one := s.await("one", engine.StateReady)
		s.await("two", engine.StateReady)
		id, err := l.sim.AddFault(pvesim.Fault{Path: "/cluster/**", Drop: "before"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := l.client.Call(t.Context(), "POST", "/nodes/"+one.Node+"/qemu/"+strconv.Itoa(one.VMID)+"/status/stop", nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s.away() == nil {
			t.Fatal("Proxmox isn't away")
		}
		oneTold, _ := s.heard("one")
		twoTold, _ := s.heard("two")
		again := func(name string, than int) bool { n, _ := s.heard(name); return n > than }
		s.mu.Lock()
		s.after = func(o engine.Outcome) {
			if o.Owner.Kind == "VirtualMachine" && o.State == engine.StateReady && o.Status != model.StatusRunning {
				t.Errorf("%s is told as ready, and is %s", o.Owner.Name, o.Status)
			}
		}
		s.mu.Unlock()
		l.sim.RemoveFault(id)
		for range 600 {
			if s.away() == nil && again("one", oneTold) && again("two", twoTold) {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if two := s.of("two"); two.State != engine.StateReady || !again("two", twoTold) {
			t.Errorf("two is %s, told anew: %v", two.State, again("two", twoTold))
		}
		if o := s.of("one"); o.State == engine.StateReady && !again("one", oneTold) {
			t.Error("one isn't told anew")
		}
		if one := s.await("one", engine.StateReady); one.Status != model.StatusRunning {
			t.Errorf("one is %s", one.Status)
		}
	})
}
