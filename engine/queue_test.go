package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// late has the agent of a machine answer late for a while, and one request about its power.
func (l *lab) late(name string) {
	for _, f := range []pvesim.Fault{
		{Path: "/nodes/*/qemu/*/agent/**", VM: l.id(name), Delay: pvesim.Duration(2 * time.Second), Times: 3},
		{Path: "/nodes/*/qemu/*/status/current", VM: l.id(name), Delay: pvesim.Duration(time.Second), Times: 3},
	} {
		if _, err := l.sim.AddFault(f); err != nil {
			l.t.Fatal(err)
		}
	}
}

// turns collects the machines that are restarted or destroyed, in their order.
type turns struct {
	mu   sync.Mutex
	list []string
}

func (s *turns) event(e engine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Kind == engine.Started && (strings.HasPrefix(e.Step, "restart") || strings.HasPrefix(e.Step, "destroy")) {
		s.list = append(s.list, e.Owner.Name)
	}
}

// announced are the machines that a plan restarts or replaces, in its order, each with the one that it
// waits for.
func announced(p plan.Plan) (names []string) {
	for _, o := range p.Objects {
		if o.Owner.Kind == "VirtualMachine" {
			text := o.Owner.Name
			if o.Wait != nil {
				first, _, _ := strings.Cut(o.Wait.Text, " has to be ready first")
				text += " after " + strings.ReplaceAll(first, "virtualmachine/", "")
			}
			names = append(names, text)
		}
	}
	return names
}

// Whichever machine answers first: they take turns as the plan says.
func TestMachinesAreRestartedInTheOrderOfThePlan(t *testing.T) {
	for i := range 4 {
		slow := fmt.Sprintf("web-%d", i)
		t.Run(slow+" answers late", func(t *testing.T) {
			inLab(t, labWorld(2), func(t *testing.T, l *lab) {
				l.mustConverge(desired(classed(4, "4096", model.Allow{}, model.Limit{})...))
				want := desired(classed(4, "8192", model.Allow{Restart: true}, model.Limit{})...)
				slices.Reverse(want.VMs)
				l.late(slow)
				var seen turns
				rep, err := l.engine().Converge(t.Context(), want, engine.Options{Events: seen.event})
				if err != nil || !rep.Converged() {
					t.Fatal(err, describe(rep))
				}
				if got := fmt.Sprint(seen.list); got != "[web-0 web-1 web-2 web-3]" {
					t.Errorf("they were restarted in the order %s", got)
				}
			})
		})
	}
}

// inTurns plans for both, and does it, in one command.
func (l *lab) inTurns(wants ...model.Desired) (plans []plan.Plan, order []string, reports []engine.Report) {
	budget, seen := engine.NewBudget(nil), &turns{}
	var list []engine.Together
	for i, want := range wants {
		e := engineOf(l.connect(pve.Token("root@pam!lab", secret)))
		list = append(list, engine.Together{Engine: e, Name: fmt.Sprintf("Provider %d", i), Want: want})
	}
	plans, _, err := engine.PlanTogether(l.t.Context(), list, time.Now())
	if err != nil {
		l.t.Fatal(err)
	}
	parties := make([]*engine.Party, len(list))
	for i, one := range list {
		parties[i] = one.Engine.Attend(budget, one.Name, one.Want)
		parties[i].Queue(plans[i])
	}
	reports = make([]engine.Report, len(list))
	var all sync.WaitGroup
	for i, one := range list {
		all.Go(func() {
			reports[i], _ = one.Engine.Converge(context.Background(), one.Want, engine.Options{Party: parties[i], Events: seen.event})
		})
	}
	all.Wait()
	return plans, seen.list, reports
}

func TestMachinesOfSeveralClustersTakeTurnsAsThePlanSays(t *testing.T) {
	for _, c := range []struct {
		limit model.Limit
		want  string // of both plans
		order string // "": more than one at once
	}{
		{
			model.Limit{Count: 1},
			"[web-0 web-1 after web-0 web-2 after web-1][web-3 after web-2 web-4 after web-3 web-5 after web-4]",
			"[web-0 web-1 web-2 web-3 web-4 web-5]",
		},
		{
			model.Limit{Percent: 50},
			"[web-0 web-1 web-2][web-3 after one of web-0, web-1, web-2 web-4 after one of web-1, web-2, web-3 web-5 after one of web-2, web-3, web-4]", "",
		},
		{model.Limit{Count: 4}, "[web-0 web-1 web-2][web-3 web-4 after one of web-0, web-1, web-2, web-3 web-5 after one of web-1, web-2, web-3, web-4]", ""},
	} {
		for _, slow := range []string{"web-0", "web-4"} {
			t.Run(fmt.Sprintf("at most %s, %s answers late", c.limit, slow), func(t *testing.T) {
				inLab(t, labWorld(2), func(t *testing.T, l *lab) {
					one, two := halves("4096", c.limit)
					l.mustConverge(one)
					l.mustConverge(two)
					one, two = halves("8192", c.limit)
					l.late(slow)
					stop := l.worst(6)
					plans, order, reports := l.inTurns(one, two)
					if got := fmt.Sprint(announced(plans[0]), announced(plans[1])); got != strings.ReplaceAll(c.want, "][", "] [") {
						t.Errorf("the plans say %s", got)
					}
					if got := fmt.Sprint(order); c.order != "" && got != c.order {
						t.Errorf("they were restarted in the order %s", got)
					}
					if worst := stop(); worst != c.limit.Of(6) {
						t.Errorf("%d were unavailable at once, want %d", worst, c.limit.Of(6))
					}
					for _, rep := range reports {
						if !rep.Converged() {
							t.Error(describe(rep))
						}
					}
				})
			})
		}
	}
}

// One that can't be restarted after all keeps nobody back for ever.
func TestMachinesOfAnotherClusterGoOnWhenOneCantBeRestarted(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		one, two := halves("4096", model.Limit{Count: 1})
		l.mustConverge(one)
		l.mustConverge(two)
		one, two = halves("8192", model.Limit{Count: 1})
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "PUT", Path: "/nodes/*/qemu/*/config", VM: l.id("web-1"), Status: 500, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
		_, order, reports := l.inTurns(one, two)
		if got := fmt.Sprint(order); got != "[web-0 web-2 web-3 web-4 web-5]" {
			t.Errorf("they were restarted in the order %s\n%s%s", got, describe(reports[0]), describe(reports[1]))
		}
	})
}

// What is down elsewhere counts in the plan as it does when it is done.
func TestPlansTellOfMachinesThatAreDownElsewhere(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		one, two := halves("4096", model.Limit{Count: 1})
		l.mustConverge(one)
		l.mustConverge(two)
		_, two = halves("8192", model.Limit{Count: 1})
		l.vm("web-1", func(_ *pvesim.State, vm *pvesim.VM) { vm.Run = nil })
		list := []engine.Together{{Engine: l.engine(), Name: "east", Want: one}, {Engine: l.engine(), Name: "west", Want: two}}
		plans, _, err := engine.PlanTogether(t.Context(), list, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(announced(plans[1])); got != "[web-3 after web-1 web-4 after web-3 web-5 after web-4]" {
			t.Errorf("the plan says %s", got)
		}
	})
}
