package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// A request whose answer nobody waits for any more is carried out all the same, maybe after
// its machine was wanted otherwise.
func TestWhatALateRequestDoesToAMachineIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		fault pvesim.Fault
		want  func(*model.VM)
		has   func(*lab) bool
	}{
		"HA": {
			pvesim.Fault{Method: "POST", Path: "/cluster/ha/resources"}, func(v *model.VM) { v.HA = &model.HA{} },
			func(l *lab) bool { told, _ := l.ha("web"); return told != nil },
		},
		"pool": {
			pvesim.Fault{Method: "PUT", Path: "/pools"}, func(v *model.VM) { v.Pool = "team" },
			func(l *lab) (in bool) {
				l.vm("web", func(s *pvesim.State, vm *pvesim.VM) { in = s.Pools["team"].VMs[vm.ID] })
				return in
			},
		},
	} {
		for _, process := range []string{"the same", "a new"} {
			t.Run(name+", "+process+" process", func(t *testing.T) {
				inLab(t, labWorld(3), func(t *testing.T, l *lab) {
					v := machine("web")
					v.WaitAddress = false
					e := l.engine()
					converge(t, e, desired(v))
					c.fault.Delay, c.fault.Times = ms(80_000), 1
					if _, err := l.sim.AddFault(c.fault); err != nil {
						t.Fatal(err)
					}
					wanted := v
					c.want(&wanted)
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						_, _ = e.Converge(ctx, desired(wanted), l.options())
					}()
					time.Sleep(20 * time.Second)
					cancel()
					<-ended
					if process == "a new" {
						e = l.engine()
					}
					if rep, err := e.Converge(t.Context(), desired(v), l.options()); err != nil || !rep.Converged() {
						t.Fatalf("%v\n%s", err, describe(rep))
					}
					time.Sleep(2 * time.Minute)
					if c.has(l) {
						t.Error("it is left\n" + l.story())
					}
					if p, err := l.engine().Plan(t.Context(), desired(v)); err != nil || !p.Ready() {
						t.Errorf("%v\n%s", err, p)
					}
				})
			})
		}
	}
}
