package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// halves are six machines that one person wants by two connections, in one command.
func halves(memory string, most model.Limit) (one, two model.Desired) {
	list := machines(6)
	for i := range list {
		list[i].Options["memory"] = memory
		list[i].Update = model.Allow{Restart: true}
	}
	one, two = desired(list[:3]...), desired(list[3:]...)
	one.MaxUnavailable, two.MaxUnavailable = most, most
	return one, two
}

// together converges both at once, each with an engine of its own or both with one.
func (l *lab) together(shared bool, wants ...model.Desired) []engine.Report {
	budget, first := engine.NewBudget(nil), l.engine()
	engines, parties := make([]*engine.Engine, len(wants)), make([]*engine.Party, len(wants))
	for i, want := range wants {
		if engines[i] = first; i > 0 && !shared {
			engines[i] = engineOf(l.connect(pve.Token("root@pam!lab", secret)))
		}
		parties[i] = engines[i].Attend(budget, fmt.Sprintf("Provider %d", i), want)
	}
	reports := make([]engine.Report, len(wants))
	var all sync.WaitGroup
	for i, want := range wants {
		all.Go(func() {
			reports[i], _ = engines[i].Converge(context.Background(), want, engine.Options{Party: parties[i]})
		})
	}
	all.Wait()
	return reports
}

func TestOneBudgetHoldsForAllThatOneCommandWants(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, c := range []struct {
			limit model.Limit
			want  int
		}{
			{model.Limit{Count: 1}, 1},
			{model.Limit{Count: 2}, 2},
			{model.Limit{Percent: 50}, 3},
		} {
			t.Run(fmt.Sprintf("%s of six, one engine %t", c.limit, shared), func(t *testing.T) {
				inLab(t, labWorld(2), func(t *testing.T, l *lab) {
					one, two := halves("4096", c.limit)
					l.mustConverge(one)
					l.mustConverge(two)
					one, two = halves("8192", c.limit)
					stop := l.worst(6)
					reports := l.together(shared, one, two)
					if worst := stop(); worst != c.want {
						t.Errorf("%d were unavailable at once, want %d", worst, c.want)
					}
					for _, rep := range reports {
						if !rep.Converged() {
							t.Error(describe(rep))
						}
					}
					if done := l.restarted(6); len(done) != 6 {
						t.Errorf("only %v were restarted", done)
					}
				})
			})
		}
	}
}

// Each waits for a machine of the other one, or for one of its own, that doesn't come back: both
// end, and say which it is.
func TestNothingElseIsRestartedAnywhereWhenOneDoesntComeBack(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		one, two := halves("4096", model.Limit{Count: 1})
		l.mustConverge(one)
		l.mustConverge(two)
		if _, err := l.sim.AddFault(pvesim.Fault{Path: "/nodes/*/qemu/*/agent/**", VM: l.id("web-0"), Status: 500, Reason: "QEMU guest agent is not running"}); err != nil {
			t.Fatal(err)
		}
		one, two = halves("8192", model.Limit{Count: 1})
		var waits int
		for _, rep := range l.together(false, one, two) {
			for _, o := range rep.Objects {
				if o.Wait != nil && o.Wait.Reason == model.WaitRollout {
					waits++
					if !strings.Contains(o.Text, "virtualmachine/web-0 has to be ready first") {
						t.Errorf("%s: %s", o.Owner.Name, o.Text)
					}
				}
			}
		}
		if done := l.restarted(6); len(done) > 1 || waits != 5 {
			t.Errorf("%v were restarted, and %d wait", done, waits)
		}
	})
}

// A Proxmox that can't be asked may have all its machines down.
func TestNothingIsRestartedWhileAnotherProxmoxCantBeAsked(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		one, two := halves("4096", model.Limit{Count: 1})
		l.mustConverge(one)
		l.mustConverge(two)
		one, two = halves("8192", model.Limit{Count: 1})
		budget := engine.NewBudget(nil)
		engineOf(l.connect(pve.Token("root@pam!lab", "wrong"))).Attend(budget, "Provider west", two)
		e := l.engine()
		rep, _ := e.Converge(t.Context(), one, engine.Options{Party: e.Attend(budget, "Provider east", one)})
		if done := l.restarted(6); len(done) > 0 || rep.Converged() {
			t.Errorf("%v were restarted\n%s", done, describe(rep))
		}
		if text := describe(rep); !strings.Contains(text, "whose state isn't known (Provider west: ") {
			t.Error(text)
		}
	})
}

// One that waited for the others goes on by what it reads itself: the others don't give up meanwhile.
func TestWhoGoesOnIsWaitedFor(t *testing.T) {
	w := labWorld(1)
	w.Timing.ClonePerGiB = ms(17500)
	inLab(t, w, func(t *testing.T, l *lab) {
		one, two := halves("4096", model.Limit{Count: 1})
		l.mustConverge(one)
		l.mustConverge(two)
		one, two = halves("8192", model.Limit{Count: 1})
		copied := machine("copy") // takes 140 s
		copied.Source.Full, copied.Power = true, model.PowerOff
		one.VMs = append(one.VMs[:1], copied)
		silent := func(name string, until time.Duration) {
			n, err := l.sim.AddFault(pvesim.Fault{Path: "/nodes/*/qemu/*/agent/**", VM: l.id(name), Status: 500, Reason: "QEMU guest agent is not running"})
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(until, func() { l.sim.RemoveFault(n) })
		}
		silent("web-3", 2*time.Minute) // longer than anybody waits for it
		silent("web-4", 2*time.Minute+50*time.Second)

		budget, a, b := engine.NewBudget(nil), l.engine(), engineOf(l.connect(pve.Token("root@pam!lab", secret)))
		first, second := a.Attend(budget, "Provider east", one), b.Attend(budget, "Provider west", two)
		var rep engine.Report
		var all sync.WaitGroup
		all.Go(func() {
			_, _ = b.Converge(t.Context(), two, engine.Options{Party: second, Patience: time.Minute})
		})
		time.Sleep(2 * time.Second) // it restarts web-3 first
		all.Go(func() {
			rep, _ = a.Converge(t.Context(), one, engine.Options{Party: first, Patience: time.Minute})
		})
		all.Wait()
		if !rep.Converged() {
			t.Error(describe(rep))
		}
		if done := l.restarted(6); fmt.Sprint(done) != "[web-0 web-3 web-4 web-5]" {
			t.Errorf("%v were restarted", done)
		}
	})
}
