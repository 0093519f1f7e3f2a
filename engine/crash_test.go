package engine_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

// tripwire ends a process at its nth request: before it is sent, or when it was
// done and the answer is on its way.
type tripwire struct {
	next  http.RoundTripper
	after bool
	kill  context.CancelFunc

	mu   sync.Mutex
	left int
}

var errKilled = errors.New("killed")

func (w *tripwire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.left--
	left := w.left
	w.mu.Unlock()
	switch {
	case left > 0:
		return w.next.RoundTrip(r)
	case left == 0 && w.after:
		// It arrives and is done, whatever becomes of the one who asked.
		res, err := w.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		if err == nil {
			_ = res.Body.Close()
		}
	case r.Body != nil:
		_ = r.Body.Close()
	}
	w.kill()
	return nil, errKilled
}

// runUntil runs an engine that is killed at its nth request, and reports whether it
// was.
func (l *lab) runUntil(want model.Desired, n int, after bool) (killed bool) {
	l.t.Helper()
	return l.run(want, n, after, false)
}

func (l *lab) run(want model.Desired, n int, after, troubled bool) (killed bool) {
	l.t.Helper()
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	tr, stop := l.sim.Transport()
	defer stop()
	wire := &tripwire{next: tr, after: after, kill: kill, left: n}
	c := kit.Over(l.t, wire, pve.Token("root@pam!lab", secret))
	rep, err := engineOf(c).Converge(ctx, want, engine.Options{})
	if ctx.Err() == nil && (err != nil || !rep.Converged()) && !troubled {
		l.t.Fatalf("%v\n%s", err, describe(rep))
	}
	return ctx.Err() != nil
}

// dieAt is the same where other things go wrong too.
func (l *lab) dieAt(want model.Desired, n int, after bool) { l.run(want, n, after, true) }

// crashes kills an engine at each of its requests in turn, each time in a lab of
// its own, and lets a new one go on.
func crashes(t *testing.T, before func(*lab), want model.Desired) {
	t.Helper()
	crashesIn(t, labWorld(2), before, want)
}

func crashesIn(t *testing.T, w *pvesim.World, before func(*lab), want model.Desired) {
	t.Helper()
	w.Timing.Clone, w.Timing.Resize, w.Timing.Start, w.Timing.Agent = ms(300), ms(100), ms(100), ms(1000)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			killed := false
			inLab(t, w, func(t *testing.T, l *lab) {
				before(l)
				killed = l.runUntil(want, n, after)
				l.mustConverge(want)
				l.check(want)
			})
			if t.Failed() {
				t.Fatalf("killed at request %d, when it was done: %v", n, after)
			}
			if !killed {
				t.Logf("%d requests", n-1)
				break
			}
		}
	}
}

func TestOneMachineIsMadeThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	crashes(t, func(*lab) {}, desired(machine("web")))
}

func TestMachinesWithFirstBootDataAreMadeThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	crashes(t, func(*lab) {}, desired(seeded("web")))
}

func TestNothingIsLeftThoughTheProcessDiesWhileDeleting(t *testing.T) {
	vm := seeded("web")
	gone := vm
	gone.Deleted = true
	crashes(t, func(l *lab) { l.mustConverge(desired(vm)) }, desired(gone))
}

func TestChangesAreMadeThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	vm, changed := seeded("web"), seedOf("web", "#cloud-config\nusers: []\n")
	changed.Options = map[string]string{"cores": "2", "memory": "8192"}
	changed.Disks = append(changed.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local-lvm", Size: 5 << 30})
	changed.Update.Restart = true
	crashes(t, func(l *lab) { l.mustConverge(desired(vm)) }, desired(changed))
}

func TestOneMachineIsMadeThoughItsMakerDiesAgainAndAgain(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(3)...)
		for n := 1; l.runUntil(want, n, n%2 == 0); n++ {
		}
		l.check(want)
	})
}
