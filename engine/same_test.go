package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// The operator translates a namespace anew whenever something in it changes. A machine that
// nobody changed is the same each time, also if its first-boot data depend on its VMID: what
// failed for it isn't tried sooner than it would be, and nothing new is told of it.
func TestAnUnchangedMachineIsTheSameAtEachTranslation(t *testing.T) {
	translated := func() model.Desired {
		vm := machine("one")
		vm.Seed = &model.Seed{Storage: "local", Digest: "aaaabbbbccccdddd", Recipe: &model.Recipe{Hostname: "one", UserData: "#cloud-config\nid: ${vm_id}\n", Variables: map[string]string{"name": "one"}}}
		return desired(vm)
	}
	t.Run("what fails keeps its back-off", func(t *testing.T) {
		serving(t, func(t *testing.T, l *lab, s *session) {
			l.fault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Status: 500, Reason: "unable to create VM"})
			const seconds = 60
			for range seconds {
				s.Want(translated(), nil)
				time.Sleep(time.Second)
			}
			clones := slices.DeleteFunc(l.requests(0), func(r string) bool { return !strings.HasSuffix(r, "/clone") })
			if len(clones) == 0 || len(clones) > 8 {
				t.Errorf("%d clones in %d seconds", len(clones), seconds)
			}
		})
	})
	t.Run("what is ready is told once", func(t *testing.T) {
		serving(t, func(t *testing.T, l *lab, s *session) {
			s.Want(translated(), nil)
			s.await("one", engine.StateReady)
			time.Sleep(time.Minute)
			before := s.count(engine.Ready)
			for range 30 {
				s.Want(translated(), nil)
				time.Sleep(time.Second)
			}
			if now := s.count(engine.Ready); now != before {
				t.Errorf("%d more events say that it is ready", now-before)
			}
		})
	})
}

// Objects are told apart by their keys. Of two owners with one key, one would be forgotten.
func TestTwoOwnersOfOneKeyAreRefused(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		ours, theirs := machine("web"), machine("web")
		theirs.Owner.Set = "other"
		_, err := l.engine().Converge(t.Context(), desired(ours, theirs), l.options())
		if !errors.Is(err, engine.ErrSameKey) || !strings.Contains(err.Error(), "virtualmachine/web: ") {
			t.Errorf("Converge: %v", err)
		}
		if _, err := l.engine().Plan(t.Context(), desired(ours, theirs)); !errors.Is(err, engine.ErrSameKey) {
			t.Errorf("Plan: %v", err)
		}
		if made := l.ours(); len(made) > 0 {
			t.Errorf("made: %v", made)
		}
	})
}
