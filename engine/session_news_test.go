package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pvesim"
)

// Somebody asks for a look: what the lists don't show is read, too, and not at the next round only.
func TestALookReadsMoreThanTheLists(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("web")), nil)
		s.await("web", engine.StateReady)
		for _, after := range []time.Duration{time.Minute, 7 * time.Second, 7 * time.Second} {
			time.Sleep(after)
			l.setConfig("web", "ciuser", "eve") // takes a second
			for range 2 {                       // the machine and its template take turns
				s.Look()
				time.Sleep(2 * time.Second)
			}
			if user := l.named("web")["ciuser"]; user != "ann" {
				t.Errorf("after two looks it has the user %s", user)
			}
		}
	})
}

// Each step of a machine is reported while it is done, and nothing in between that isn't known yet.
func TestEachStepIsReported(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		var told []string
		s.after = func(o engine.Outcome) {
			if o.Owner.Kind == "VirtualMachine" {
				told = append(told, fmt.Sprintf("%s: %s", o.State, o.Text))
			}
		}
		s.Want(desired(machine("web")), nil)
		s.await("web", engine.StateReady)
		s.mu.Lock()
		for step, want := range map[string]int{"clone": 2, "configure": 1, "grow": 2, "start": 2} { // when it begins, and with its task
			count := 0
			for _, line := range told {
				if strings.HasPrefix(line, "Changing: "+step) {
					count++
				}
			}
			if count < want {
				t.Errorf("%s is reported %d times, want %d: %q", step, count, want, told)
			}
		}
		told = nil
		s.mu.Unlock()
		time.Sleep(time.Minute)
		l.kill("web")
		time.Sleep(time.Minute)
		s.await("web", engine.StateReady)
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.IndexFunc(told, func(s string) bool { return strings.Contains(s, "not done yet") }); i >= 0 || len(told) == 0 {
			t.Errorf("reported after it was stopped by hand: %q", told)
		}
	})
}

// One object that waits for long doesn't keep the lists from being read soon for another one.
func TestANewWaitIsLookedAtSoon(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		old, web := machine("old"), machine("web")
		s.Want(desired(old, web), nil)
		s.await("old", engine.StateReady)
		s.await("web", engine.StateReady)
		lock := func(name, value string) {
			l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) {
				if delete(vm.Conf, "lock"); value != "" {
					vm.Conf["lock"] = value
				}
			})
		}
		lock("old", "backup")
		old.Description, web.Description = "changed", "changed"
		s.Want(desired(old, web), nil)
		s.await("web", engine.StateReady)
		time.Sleep(5 * time.Minute)
		for range 3 {
			time.Sleep(7 * time.Second)
			lock("web", "backup")
			web.Description += " again"
			s.Want(desired(old, web), nil)
			time.Sleep(3 * time.Second)
			lock("web", "")
			begun := time.Now()
			for !strings.Contains(l.named("web")["description"], web.Description) {
				time.Sleep(100 * time.Millisecond)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it was done %v after the lock was gone", took)
			}
		}
	})
}

// What a person has done to a guest isn't as the lists have it, which are late.
func TestWhatWasDoneByHandIsInDoubt(t *testing.T) {
	inLab(t, mailWorld(), func(t *testing.T, l *lab) {
		e := l.engine()
		status := func() (is model.Status) {
			if _, err := e.Plan(t.Context(), desired()); err != nil {
				t.Fatal(err)
			}
			e.View(func(have *model.Observed) { is = have.Guests[500].Status })
			return is
		}
		before := status()
		if err := e.ByHand(t.Context()).Do(t.Context(), &mail, model.Start{Target: model.Target{VMID: 500, Node: "pve1"}}); err != nil {
			t.Fatal(err)
		}
		if after := status(); after == before {
			t.Errorf("it is %s before and after it was started", after)
		}
	})
}

// A plan that is completed with addresses stays the plan that was made: what somebody has changed since
// isn't part of it.
func TestAddressesThatAreHeardChangeNoPlan(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want, e := desired(machine("web")), l.engine()
		converge(t, e, want)
		p, err := e.Plan(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(p.Objects, func(o plan.Object) bool { return o.Owner.Kind == "VirtualMachine" })
		l.setConfig("web", "ciuser", "eve")
		if err := e.Learn(t.Context(), model.Look{Configs: []int{p.Objects[at].VMID}}); err != nil {
			t.Fatal(err)
		}
		if heard := e.Heard(p, want); len(heard.Objects[at].Steps) > 0 || !heard.Objects[at].Unchanged() {
			t.Errorf("it has the steps %v", heard.Objects[at].Steps)
		}
	})
}
