package engine_test

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/pvesim"
)

// The agent of a machine is still being asked when nobody wants the machine any more. What it
// answers then is no failure, least of all one of a machine that is wanted again.
func TestAnAnswerThatNobodyWaitsForIsNoFailure(t *testing.T) {
	inLab(t, mute(labWorld(1)), func(t *testing.T, l *lab) {
		web := machine("web")
		if _, err := l.engine().Converge(t.Context(), desired(web), engine.Options{Patience: time.Minute}); err != nil {
			t.Fatal(err)
		}
		s := l.serve(l.client) // which finds it running
		defer s.end()
		s.Want(desired(web), nil)
		s.await("web", engine.StateWaiting)
		time.Sleep(time.Minute)
		s.Want(desired(), nil)
		fault, err := l.sim.AddFault(pvesim.Fault{Path: "/nodes/*/qemu/*/agent/**", VM: l.id("web"), Status: 403, Reason: "Permission check failed (/vms, VM.Monitor)"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := s.count(engine.Failed); n > 0 {
			t.Errorf("%d failures of a machine that nobody wants\n%s", n, l.story())
		}
		l.sim.RemoveFault(fault)
		s.Want(desired(web), nil)
		time.Sleep(time.Minute)
		if o := s.of("web"); o.State != engine.StateWaiting || o.Failure != nil {
			t.Errorf("it is %+v\n%s", o, l.story())
		}
	})
}
