package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// period is how often everything is looked at while nothing is to be done, with the
// time that lists are late by, and a moment.
const period = 20*time.Second + 12*time.Second

func TestWhatHappensBehindOurBackIsNoticedWithinAPeriod(t *testing.T) {
	noticed := map[string]struct {
		happens func(l *lab)
		notice  func(was, is engine.Outcome) bool
	}{
		"stopped": {
			func(l *lab) { l.kill("web-1") },
			func(_, is engine.Outcome) bool { return is.State == engine.StateChanging },
		},
		"crashed": {
			func(l *lab) { l.vm("web-1", func(_ *pvesim.State, vm *pvesim.VM) { vm.Run = nil }) },
			func(_, is engine.Outcome) bool { return is.State == engine.StateChanging },
		},
		"moved": {
			func(l *lab) {
				to := "pve1"
				if l.named("web-1")["node"] == to {
					to = "pve2"
				}
				l.somebody("web-1", "POST", "/migrate", pve.Params{"target": to, "online": "1", "with-local-disks": "1"})
			},
			func(was, is engine.Outcome) bool { return is.Node != was.Node && is.State == engine.StateReady },
		},
		"deleted": {
			func(l *lab) { l.vanish("web-1") },
			func(_, is engine.Outcome) bool { return is.State == engine.StateChanging },
		},
	}
	for name, c := range noticed {
		t.Run(name, func(t *testing.T) {
			serving(t, func(t *testing.T, l *lab, s *session) {
				s.Want(desired(machines(3)...), nil)
				for _, v := range machines(3) {
					s.await(v.Name, engine.StateReady)
				}
				time.Sleep(time.Minute)
				was := s.of("web-1")
				begun := time.Now()
				c.happens(l)
				for !c.notice(was, s.of("web-1")) {
					if time.Since(begun) > period {
						t.Fatalf("it is %+v\n%s", s.of("web-1"), l.story())
					}
					time.Sleep(50 * time.Millisecond)
				}
				is := s.await("web-1", engine.StateReady)
				if is.Status != model.StatusRunning || len(l.ours()) != 3 {
					t.Errorf("in the end it is %+v, and there are %d machines", is, len(l.ours()))
				}
			})
		})
	}
}

// A machine may wait for somebody's consent for weeks. It is asked for its addresses all the same.
func TestAnotherAddressIsNoticedWhileAChangeWaitsForConsent(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		vm := machine("web")
		s.Want(desired(vm), nil)
		s.await("web", engine.StateReady)
		vm.Options = map[string]string{"cores": "2", "memory": "4096", "ciuser": "ann"}
		s.Want(desired(vm), nil)
		s.await("web", engine.StateRefused)
		l.sim.Do(func(st *pvesim.State) {
			for mac := range st.DHCP.Leases {
				st.DHCP.Leases[mac] = "10.7.99.99"
			}
		})
		time.Sleep(2 * period)
		if is := s.of("web"); is.State != engine.StateRefused || fmt.Sprint(is.Addresses) != "[10.7.99.99/16]" {
			t.Errorf("it is %s with the addresses %v", is.State, is.Addresses)
		}
	})
}
