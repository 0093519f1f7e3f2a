package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// haWorld has guests of somebody else's beside the templates.
func haWorld(release string) *pvesim.World {
	w := labWorld(3)
	w.Release = release
	for i := range 2 {
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 9100 + i, Node: "pve1", Config: map[string]string{"name": fmt.Sprintf("other-%d", i), "scsi0": "nfs:1"}})
	}
	return w
}

// haGroups makes the groups "fast" and "slow": rules since 9, each of which somebody
// else's guest is in.
func (l *lab) haGroups(release string) {
	l.t.Helper()
	for i, name := range []string{"fast", "slow"} {
		var err error
		if release == "8.4" {
			err = l.client.HA().CreateGroup(l.t.Context(), pve.HAGroup{ID: name, Nodes: "pve1"})
		} else {
			other := fmt.Sprintf("vm:%d", 9100+i)
			if err = l.client.HA().AddResource(l.t.Context(), other, pve.HASettings{State: "stopped"}); err == nil {
				err = l.client.HA().CreateRule(l.t.Context(), pve.HARule{ID: name, Type: "node-affinity", Nodes: "pve1", Resources: []string{other}})
			}
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// ha is what HA was told about a machine, with the groups it is in.
func (l *lab) ha(name string) (told map[string]string, groups string) {
	l.vm(name, func(s *pvesim.State, vm *pvesim.VM) {
		sid := fmt.Sprintf("vm:%d", vm.ID)
		told = s.HA.Resources[sid]
		groups = told["group"]
		for _, rule := range []string{"fast", "slow"} {
			if strings.Contains(s.HA.Rules[rule]["resources"], sid) {
				groups += rule
			}
		}
	})
	return told, groups
}

func TestHAIsToldWhatChangesAboutAMachine(t *testing.T) {
	for _, release := range []string{"8.4", "9.2"} {
		inLab(t, haWorld(release), func(t *testing.T, l *lab) {
			l.haGroups(release)
			v := machine("web")
			v.HA, v.WaitAddress = &model.HA{MaxRestart: 2, Group: "fast"}, false
			l.mustConverge(desired(v))
			v.HA = &model.HA{MaxRestart: 3, MaxRelocate: 4, Group: "slow"}
			l.mustConverge(desired(v))
			if told, groups := l.ha("web"); told["max_restart"] != "3" || told["max_relocate"] != "4" || told["state"] == "stopped" || groups != "slow" {
				t.Errorf("%s: HA was told %v, and that it is in %q", release, told, groups)
			}
			before := len(l.requests(0))
			l.mustConverge(desired(v))
			if made := l.requests(before); writes(made) > 0 {
				t.Errorf("%s: what is up to date is written again: %v", release, made)
			}
		})
	}
}

// The rule that stands for a group is a call of its own, after the one that puts the
// machine under HA.
func TestAMachineGetsIntoItsGroupThoughThatFailedAtFirst(t *testing.T) {
	inLab(t, haWorld("9.2"), func(t *testing.T, l *lab) {
		l.haGroups("9.2")
		v := machine("web")
		v.HA, v.WaitAddress = &model.HA{Group: "fast"}, false
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "PUT", Path: "/cluster/ha/rules/*", Status: 500, Times: 1}); err != nil {
			t.Fatal(err)
		}
		l.mustConverge(desired(v))
		if told, groups := l.ha("web"); groups != "fast" {
			t.Errorf("HA was told %v, and that it is in %q", told, groups)
		}
	})
}

// Until the HA manager has taken a resource up, the list shows no state of it. It is under HA all the same.
func TestResourcesThatTheManagerHasNotTakenUpAreUnderHA(t *testing.T) {
	w := haWorld("9.2")
	w.Load.HARound = ms(60_000)
	inLab(t, w, func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.HA, vm.WaitAddress = &model.HA{}, false
		// A first process puts it under HA, and is gone before anything else is seen.
		ctx, cancel := context.WithCancel(t.Context())
		opts := l.options()
		opts.Events = func(e engine.Event) {
			if e.Kind == engine.Done && e.Action == "SetHA" {
				cancel()
			}
		}
		_, _ = l.engine().Converge(ctx, desired(vm), opts)
		if told, _ := l.ha("web"); told == nil {
			t.Fatal("it isn't under HA")
		}
		time.Sleep(15 * time.Second) // the lists show that it is there, and stopped
		before := l.sim.RequestCount()
		p, err := l.engine().Plan(t.Context(), desired(vm))
		if err != nil || p.Steps() > 0 {
			t.Errorf("%v\n%s", err, p)
		}
		l.mustConverge(desired(vm))
		for _, r := range l.requests(before) {
			if r == "POST /cluster/ha/resources" {
				t.Error("it was put under HA again")
			}
		}
	})
	inLab(t, w, func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.HA, vm.WaitAddress = &model.HA{}, false
		opts := l.options()
		opts.Patience = 20 * time.Second
		if _, err := l.engine().Converge(t.Context(), desired(vm), opts); err != nil {
			t.Fatal(err)
		}
		if told, _ := l.ha("web"); told == nil {
			t.Fatal("it isn't under HA")
		}
		vm.HA, vm.Power = nil, ""
		l.mustConverge(desired(vm))
		if told, _ := l.ha("web"); told != nil {
			t.Errorf("it was left under HA: %v", told)
		}
	})
}
