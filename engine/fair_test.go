package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// lockTurn is how long a clone has the lock of its storage in a busy world.
const lockTurn = 2 * time.Second

// busyWorld has what makes people wait: few workers, slow answers, and storages that
// serve four clones at a time.
func busyWorld() *pvesim.World {
	w := labWorld(3)
	w.Load.Workers, w.Locks.Storage = 3, 4
	w.Timing.Request, w.Timing.Clone, w.Timing.Link = ms(100), 0, pvesim.Duration(lockTurn)
	return w
}

// deletion deletes a machine beside all others, and returns how long that takes.
func (s *session) deletion(vms []model.VM, name string) time.Duration {
	s.l.t.Helper()
	for i := range vms {
		if vms[i].Name == name {
			vms[i].Deleted = true
		}
	}
	begun := time.Now()
	s.Want(desired(vms...), nil)
	for s.of(name).State != engine.StateGone {
		if time.Since(begun) > time.Hour {
			s.l.t.Fatalf("%s is %+v", name, s.of(name))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begun)
}

// clonesBefore is how many clones Proxmox had to do on a machine's node when it got to destroy it.
func (s *session) clonesBefore(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	clones, its := map[string]int{}, ""
	for _, e := range s.events {
		switch _, node, onNode := strings.Cut(e.Step, " on "); {
		case e.Owner.Name == name && e.Kind == engine.Progress && strings.HasPrefix(e.Step, "destroy"):
			return clones[its]
		case !onNode || !strings.HasPrefix(e.Step, "clone"):
		case e.Kind == engine.Progress:
			clones[node]++
			if e.Owner.Name == name {
				its = node
			}
		case e.Kind == engine.Done:
			clones[node]--
		}
	}
	s.l.t.Errorf("%s was never destroyed", name)
	return 0
}

// A deletion waits for the clones that its storage is busy with at that moment, and
// for none of those that wait. Times are virtual here: what counts is who waits for
// whom.
func TestManyNewMachinesDontStarveADeletion(t *testing.T) {
	inLab(t, busyWorld(), func(t *testing.T, l *lab) {
		s := l.serve(l.client)
		defer s.end()
		vms := []model.VM{machine("first"), machine("second")}
		s.Want(desired(vms...), nil)
		s.await("first", engine.StateReady)
		s.await("second", engine.StateReady)
		alone := s.deletion(vms, "first")

		const many = 300
		vms = append(vms, machines(many)...)
		was := s.count(engine.Ready)
		ready := func() int { return s.count(engine.Ready) - was }
		s.Want(desired(vms...), nil)
		for ready() < many/10 {
			time.Sleep(100 * time.Millisecond)
		}
		amid := s.deletion(vms, "second")
		unready, before := many-ready(), s.clonesBefore("second")
		t.Logf("a deletion takes %s alone and %s amid %d creations; %d clones were before it, and %d machines aren't ready by then", alone, amid, many, before, unready)
		// Clones that Proxmox has accepted can't be overtaken; they take turns of four.
		if amid > alone+time.Duration(before/4+2)*lockTurn {
			t.Errorf("it had to wait for clones that came after it: %d were before it", before)
		}
		if before > many/3/2 {
			t.Errorf("%d clones are begun at once on its node, so there was nothing to overtake", before)
		}
		if unready < many/2 {
			t.Error("most machines are ready by then, so there was nothing to wait for")
		}
	})
}

// Of several that are worked on one after the other, most aren't wanted any more when
// it is their turn.
func TestAPlaceThatNobodyTakesIsGivenToTheNext(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		s := l.serveSome(l.client, 1)
		defer s.end()
		first, last := machine("first"), machine("last")
		s.Want(desired(append(append([]model.VM{first}, machines(20)...), last)...), nil)
		time.Sleep(time.Second)
		s.Want(desired(first, last), nil)
		s.await("last", engine.StateReady)
	})
}

func TestWhatIsToGoNeedsNoPlace(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		s := l.serveSome(l.client, 1)
		defer s.end()
		vms := []model.VM{machine("first"), machine("second")}
		s.Want(desired(vms...), nil)
		s.await("first", engine.StateReady)
		s.await("second", engine.StateReady)
		alone := s.deletion(vms, "first")
		vms = append(vms, machines(5)...)
		s.Want(desired(vms...), nil)
		time.Sleep(time.Second)
		if amid := s.deletion(vms, "second"); amid > 2*alone {
			t.Errorf("it takes %s, and %s without others", amid, alone)
		}
	})
}

func TestWhatIsBegunIsFinishedBeforeMoreIsBegun(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		opts := l.options()
		opts.Parallel = 2
		rep, err := l.engine().Converge(t.Context(), desired(machines(12)...), opts)
		if err != nil || !rep.Converged() {
			t.Fatal(err, describe(rep))
		}
		begun, most := map[string]bool{}, 0
		for _, e := range l.events {
			switch e.Kind {
			case engine.Started:
				begun[e.Owner.Name] = true
			case engine.Waiting, engine.Ready:
				delete(begun, e.Owner.Name)
			}
			most = max(most, len(begun))
		}
		if most > 2*opts.Parallel {
			t.Errorf("%d machines are half made at once\n%s", most, l.story())
		}
	})
}
