package engine_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	kit "github.com/proxplane/proxplane/test/kit/sim"
	"github.com/proxplane/proxplane/test/kit/steps"
)

// checked sees to it that nothing is taken away but by a step that was begun.
type checked struct {
	t       *testing.T
	next    http.RoundTripper
	steps   steps.Running
	mu      sync.Mutex
	removed int
	left    map[string]int // steps that have removed what was left, by why
}

func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	params := req.URL.Query()
	if req.Body != nil && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		text := new(strings.Builder)
		buf := make([]byte, 4096)
		for {
			n, err := body.Read(buf)
			text.Write(buf[:n])
			if err != nil {
				break
			}
		}
		if form, err := url.ParseQuery(text.String()); err == nil && strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
			params = form
		}
	}
	if err := c.steps.Check(req.Method, strings.TrimPrefix(req.URL.Path, "/api2/json"), params); err != nil {
		c.t.Error(err)
	}
	if req.Method == http.MethodDelete {
		c.mu.Lock()
		c.removed++
		c.mu.Unlock()
	}
	return c.next.RoundTrip(req)
}

// checkedEngine is an engine whose requests are checked.
func (l *lab) checkedEngine() (*engine.Engine, *checked) {
	tr, stop := l.sim.Transport()
	l.t.Cleanup(stop)
	wire := &checked{t: l.t, next: tr, left: map[string]int{}}
	c := kit.Over(l.t, wire, pve.Token("root@pam!lab", secret))
	return engine.New(observe.New(c), act.New(c)), wire
}

// agreeing shows the plan to somebody who agrees, and does it.
func (w *checked) agreeing(e *engine.Engine, want model.Desired) (plan.Plan, engine.Report) {
	w.t.Helper()
	p, err := e.Plan(w.t.Context(), want)
	if err != nil {
		w.t.Fatal(err)
	}
	var agreed plan.Agreement
	agreed.Add(p)
	rep, err := e.Converge(w.t.Context(), want, engine.Options{Agreed: &agreed, Events: func(e engine.Event) {
		if w.steps.Event(e); e.Kind == engine.Done && e.Action == "RemoveDisk" {
			w.left[strings.TrimRight(e.Text, " 0123456789")]++
		}
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return p, rep
}

// Whatever is taken away, and whatever goes wrong: it is a step, and what is lost by it was in the plan
// that somebody has agreed to.
func TestNothingIsTakenAwayButByAStep(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		e, wire := l.checkedEngine()
		vm := machine("web")
		vm.Disks = append(vm.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local-lvm", Size: 1 << 30})
		vm.Options = map[string]string{"memory": "1024"}
		wire.agreeing(e, desired(vm))

		// The move of a disk leaves the old one.
		l.fault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/move_disk", Hold: "storage:local-lvm", For: ms(90_000), Times: 1})
		vm.Disks = slices.Clone(vm.Disks)
		vm.Disks[len(vm.Disks)-1].Storage = "nfs"
		wire.agreeing(e, desired(vm))

		// A copy that is stopped half way leaves its disks.
		l.fault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Hold: "storage:nfs", For: ms(90_000), Times: 1})
		other := machine("other")
		wire.agreeing(e, desired(vm, other))

		// A destruction leaves disks.
		l.fault(pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/*", Hold: "storage:local-lvm", For: ms(90_000), Times: 1})
		vm.Deleted, other.Deleted = true, true
		_, rep := wire.agreeing(e, desired(vm, other))
		if !rep.Converged() {
			t.Errorf("%s\n%s", describe(rep), l.story())
		}
		if len(wire.left) != 3 || len(l.ours()) > 0 {
			t.Errorf("%d requests took something away, of which was left %v, and %v are there", wire.removed, wire.left, l.ours())
		}
		l.check(model.Desired{})
	})
}

// What an earlier process has left is in the plan of the next one, with its effect, and stays if nobody
// agrees.
func TestWhatWasLeftIsShownBeforeItGoes(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vmid := l.leave(l.client)
		var none plan.Agreement
		if _, err := l.engine().Converge(t.Context(), model.Desired{}, engine.Options{Agreed: &none}); err != nil {
			t.Fatal(err)
		}
		if got := l.volumes(vmid); len(got) != 2 {
			t.Fatalf("nobody has agreed, and there are %v", got)
		}
		e, wire := l.checkedEngine()
		p, _ := wire.agreeing(e, model.Desired{})
		shown := 0
		for _, o := range p.Objects {
			for _, s := range o.Steps {
				if r, ok := s.Action.(model.RemoveDisk); ok && s.Effect == plan.LosesData && strings.Contains(s.What, r.Volume) && r.Guest() == vmid {
					shown++
				}
			}
		}
		if got := l.volumes(vmid); shown != 2 || len(got) != 0 || wire.removed != 2 {
			t.Errorf("%d shown, %d requests, and there are %v:\n%s", shown, wire.removed, got, p)
		}
		before := l.sim.RequestCount()
		time.Sleep(10 * time.Minute)
		wire.agreeing(e, model.Desired{})
		if n := l.sim.RequestCount() - before; n > 6 {
			t.Errorf("when nothing is left, it takes %d requests to see that", n)
		}
	})
}
