package engine_test

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// pveproxy restarts within seconds: a plan that has begun to read waits for it.
func TestAPlanOutlivesARestartOfProxmox(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		want := desired(seeded("web-1"), seeded("web-2"), seeded("web-3"), seeded("web-4"))
		l.mustConverge(want)
		for _, path := range []string{"/cluster/**", "/nodes/**"} {
			begun, c := time.Now(), l.connect(pve.Token("root@pam!lab", secret))
			if _, err := c.Version(t.Context()); err != nil {
				t.Fatal(err)
			}
			fault, err := l.sim.AddFault(pvesim.Fault{Path: path, Drop: "before"})
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(5*time.Second, func() { l.sim.RemoveFault(fault) })
			p, err := engineOf(c).Plan(t.Context(), want)
			if err != nil {
				t.Errorf("without answers for %s for five seconds: %v", path, err)
			}
			if !p.Unchanged() {
				t.Errorf("there is something to do: %v", p)
			}
			if time.Since(begun) < 5*time.Second {
				t.Errorf("the plan needed nothing of %s", path)
			}
		}
	})
}

// A Proxmox that has never answered has another address, and one that stays away isn't waited for without end.
func TestAPlanEndsWhenProxmoxStaysAway(t *testing.T) {
	for name, before := range map[string]bool{"never answered": false, "answered before": true} {
		t.Run(name, func(t *testing.T) {
			inLab(t, labWorld(1), func(t *testing.T, l *lab) {
				c := l.connect(pve.Token("root@pam!lab", secret))
				if before {
					if _, err := c.Version(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				l.fault(pvesim.Fault{Path: "/**", Drop: "before"})
				begun := time.Now()
				if _, err := engineOf(c).Plan(t.Context(), desired(seeded("web"))); err == nil {
					t.Error("there is a plan without an answer")
				}
				if waited := time.Since(begun) >= 20*time.Second; waited != before {
					t.Errorf("the plan ended after %v", time.Since(begun))
				}
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("the plan ended after %v", took)
				}
			})
		})
	}
}
