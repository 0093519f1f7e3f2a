package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// classed are machines of one class, with as much memory as is said.
func classed(n int, memory string, allow model.Allow, most model.Limit) []model.VM {
	list := machines(n)
	for i := range list {
		list[i].Options["memory"] = memory
		list[i].Update = allow
		list[i].Rollout = model.Rollout{Groups: []string{"small"}, Max: most}
	}
	return list
}

// worst is how many of some machines are unavailable at once at most, until it is stopped:
// they don't run, or their agents don't answer.
func (l *lab) worst(n int) (stop func() int) {
	most, done, ended := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
			up := 0
			l.sim.Do(func(s *pvesim.State) {
				for id, vm := range s.VMs {
					if id < 9000 && vm.Run != nil && !vm.Run.Agent.IsZero() && !l.sim.Now().Before(vm.Run.Agent) {
						up++
					}
				}
			})
			most = max(most, n-up)
		}
	}()
	return func() int {
		close(done)
		<-ended
		return most
	}
}

func TestMachinesAreRestartedAndReplacedOneAfterTheOther(t *testing.T) {
	restart := func(n int, most model.Limit) (before, after []model.VM) {
		return classed(n, "4096", model.Allow{}, most), classed(n, "8192", model.Allow{Restart: true}, most)
	}
	replace := func(n int, most model.Limit) (before, after []model.VM) {
		before, after = classed(n, "4096", model.Allow{}, most), classed(n, "4096", model.Allow{Replace: true}, most)
		for i := range after {
			after[i].Source.Image = key("VMImage", "second")
		}
		return before, after
	}
	second := ubuntu()
	second.Owner.Name = "second"
	for _, c := range []struct {
		reason string
		change func(int, model.Limit) (before, after []model.VM)
		limit  model.Limit
		all    model.Limit // of the whole
		want   int
	}{
		{"one by default", restart, model.Limit{}, model.Limit{}, 1},
		{"as many as is said", restart, model.Limit{Count: 2}, model.Limit{}, 2},
		{"a part of them", restart, model.Limit{Percent: 70}, model.Limit{}, 2},
		{"no more than of the whole", restart, model.Limit{Count: 3}, model.Limit{Count: 1}, 1},
		{"replaced, too", replace, model.Limit{}, model.Limit{}, 1},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inLab(t, labWorld(2), func(t *testing.T, l *lab) {
				const n = 4
				before, after := c.change(n, c.limit)
				want := desired(before...)
				want.Images = append(want.Images, second)
				l.mustConverge(want)
				want.VMs, want.MaxUnavailable = after, c.all
				stop := l.worst(n)
				l.mustConverge(want)
				if got := stop(); got != c.want {
					t.Errorf("%d were unavailable at once, want %d\n%s", got, c.want, l.story())
				}
			})
		})
	}
}

// Of machines that are looked after for ever, too, and across all that have a class.
func TestASessionRestartsOneAfterTheOther(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		const n = 5
		l.mustConverge(desired(classed(n, "4096", model.Allow{}, model.Limit{})...))
		stop := l.worst(n)
		l.keeping(l.engine(), desired(classed(n, "8192", model.Allow{Restart: true}, model.Limit{})...), func() {
			time.Sleep(5 * time.Minute)
		})
		if got := stop(); got != 1 {
			t.Errorf("%d were unavailable at once", got)
		}
		for i := range n {
			name := fmt.Sprintf("web-%d", i)
			l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) {
				if vm.Conf["memory"] != "8192" || vm.Run == nil || vm.Run.Mem != 8192<<20 {
					t.Errorf("%s wasn't restarted: %v", name, vm.Conf["memory"])
				}
			})
		}
	})
}

func TestNothingElseIsRestartedWhenOneDoesntComeBack(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		const n = 3
		l.mustConverge(desired(classed(n, "4096", model.Allow{}, model.Limit{})...))
		var id int
		l.vm("web-0", func(_ *pvesim.State, vm *pvesim.VM) { id = vm.ID })
		if _, err := l.sim.AddFault(pvesim.Fault{Path: "/nodes/*/qemu/*/agent/**", VM: id, Status: 500, Reason: "QEMU guest agent is not running"}); err != nil {
			t.Fatal(err)
		}
		rep := l.converge(desired(classed(n, "8192", model.Allow{Restart: true}, model.Limit{})...))
		for _, o := range rep.Objects[2:] {
			if o.State != engine.StateWaiting || o.Wait == nil || o.Wait.Reason != model.WaitRollout || !strings.Contains(o.Text, "virtualmachine/web-0 has to be ready first") {
				t.Errorf("%s is %s: %s", o.Owner.Name, o.State, o.Text)
			}
			l.vm(o.Owner.Name, func(_ *pvesim.State, vm *pvesim.VM) {
				if vm.Run == nil || vm.Run.Mem != 4096<<20 {
					t.Errorf("%s was restarted", o.Owner.Name)
				}
			})
		}
		// Another process sees that, too.
		l.converge(desired(classed(n, "8192", model.Allow{Restart: true}, model.Limit{})...))
		l.vm("web-1", func(_ *pvesim.State, vm *pvesim.VM) {
			if vm.Run == nil || vm.Run.Mem != 4096<<20 {
				t.Errorf("a second process has restarted web-1")
			}
		})
	})
}

// A process that was killed in the middle is followed by another one, which doesn't know what
// was being restarted or replaced.
func TestANewProcessDoesntRestartASecondOne(t *testing.T) {
	for _, after := range []time.Duration{0, 300 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 5 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			inLab(t, labWorld(2), func(t *testing.T, l *lab) {
				const n = 3
				l.mustConverge(desired(classed(n, "4096", model.Allow{}, model.Limit{})...))
				want := desired(classed(n, "8192", model.Allow{Restart: true}, model.Limit{})...)
				stop := l.worst(n)
				ctx, kill := context.WithCancel(t.Context())
				opts := l.options()
				opts.Events = func(e engine.Event) {
					l.events = append(l.events, e)
					if e.Kind == engine.Progress && e.Action == "Reboot" {
						time.AfterFunc(after, kill)
					}
				}
				_, _ = l.engine().Converge(ctx, want, opts)
				l.mustConverge(want)
				if got := stop(); got != 1 {
					t.Errorf("%d were unavailable at once\n%s", got, l.story())
				}
			})
		})
	}
}
