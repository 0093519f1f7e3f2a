package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// Proxmox may carry out a request when nobody waits for its answer any more. Who has gone
// meanwhile isn't gone before that is over, else what it makes stays.
func TestWhatIsMadeTooLateIsRemovedToo(t *testing.T) {
	snapshot := model.Snapshot{Owner: owner("VMSnapshot", "before"), VM: key("VirtualMachine", "web"), Name: "before"}
	for _, c := range []struct {
		name, path string
		begin      func(l *lab) model.Desired
		left       func(l *lab) bool
	}{
		{
			name: "a clone", path: "/nodes/*/qemu/*/clone",
			begin: func(*lab) model.Desired { return desired(machine("web")) },
			left:  func(l *lab) bool { return len(l.ours()) > 0 },
		},
		{
			name: "a snapshot", path: "/nodes/*/qemu/*/snapshot",
			begin: func(l *lab) model.Desired {
				d := desired(machine("web"))
				l.mustConverge(d)
				d.Snapshots = []model.Snapshot{snapshot}
				return d
			},
			left: func(l *lab) (left bool) {
				l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) { left = len(vm.Snaps) > 0 })
				return left
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inLab(t, labWorld(1), func(t *testing.T, l *lab) {
				want := c.begin(l)
				if _, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: c.path, Times: 1, Delay: pvesim.Duration(85 * time.Second)}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				mine, gone, told := key("VirtualMachine", "web"), false, make(chan struct{})
				if len(want.Snapshots) > 0 {
					mine = snapshot.Owner.Key
				}
				s := l.engine().Serve(ctx, engine.Options{Changed: func(o engine.Outcome) {
					if o.Owner.Key == mine && o.State == engine.StateGone && !gone {
						gone = true
						close(told)
					}
				}})
				s.Want(want, nil)
				time.Sleep(5 * time.Second)
				if len(want.Snapshots) > 0 {
					want.Snapshots = slices.Clone(want.Snapshots)
					want.Snapshots[0].Deleted = true
				} else {
					want = desired(machine("web")) // another one: the session reads the former
					want.Delete()
				}
				s.Want(want, nil)
				select {
				case <-told:
				case <-time.After(10 * time.Minute):
					t.Error("it is never gone")
				}
				s.Want(desired(), nil) // nobody knows it any more
				time.Sleep(10 * time.Minute)
				cancel()
				<-s.Done()
				if c.left(l) {
					t.Error("something is left")
				}
			})
		})
	}
}
