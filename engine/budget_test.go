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

// partner is a session that shares a budget with others.
type partner struct {
	*engine.Session
	party  *engine.Party
	cancel context.CancelFunc

	mu     sync.Mutex
	latest map[string]engine.Outcome
}

// partner begins a session for some machines of the class.
func (l *lab) partner(b *engine.Budget, name string, vms []model.VM) *partner {
	p := &partner{party: b.Join(name), latest: map[string]engine.Outcome{}}
	p.connect(l.connect(pve.Token("root@pam!lab", secret)), desired(vms...))
	return p
}

func (p *partner) connect(c *pve.Client, want model.Desired) {
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	p.Session = engineOf(c).Serve(ctx, engine.Options{Party: p.party, Changed: func(o engine.Outcome) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.latest[o.Owner.Name] = o
	}})
	p.party.Expect(want)
	p.Want(want, nil)
}

func (p *partner) end() {
	p.cancel()
	<-p.Done()
}

func (p *partner) of(name string) engine.Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest[name]
}

// inNamespace has machines belong to a namespace, with VMIDs that are remembered from when
// they were made.
func (l *lab) inNamespace(namespace string, vms []model.VM) []model.VM {
	for i := range vms {
		vms[i].Owner.Namespace = namespace
		if len(l.named(vms[i].Name)) > 0 {
			l.vm(vms[i].Name, func(_ *pvesim.State, vm *pvesim.VM) { vms[i].Remembered = vm.ID })
		}
	}
	return vms
}

// twoTeams are six machines of one class, three for each of two sessions.
func (l *lab) twoTeams(memory string, allow model.Allow, most model.Limit) (east, west []model.VM) {
	all := classed(6, memory, allow, most)
	return l.inNamespace("east", all[:3]), l.inNamespace("west", all[3:])
}

// restarted are the machines that run with 8 GiB.
func (l *lab) restarted(n int) (names []string) {
	for i := range n {
		name := fmt.Sprintf("web-%d", i)
		l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) {
			if vm.Run != nil && vm.Run.Mem == 8192<<20 {
				names = append(names, name)
			}
		})
	}
	return names
}

func (l *lab) makeTeams() {
	east, west := l.twoTeams("4096", model.Allow{}, model.Limit{})
	l.mustConverge(desired(append(east, west...)...))
}

func TestSessionsShareABudget(t *testing.T) {
	for _, c := range []struct {
		reason string
		limit  model.Limit
		want   int
	}{
		{"one of all by default", model.Limit{}, 1},
		{"as many of all as is said", model.Limit{Count: 2}, 2},
		{"a part of all, not of those of one session", model.Limit{Percent: 50}, 3},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inLab(t, labWorld(2), func(t *testing.T, l *lab) {
				l.makeTeams()
				east, west := l.twoTeams("8192", model.Allow{Restart: true}, c.limit)
				stop := l.worst(6)
				budget := engine.NewBudget(nil)
				one, two := l.partner(budget, "Provider east", east), l.partner(budget, "Provider west", west)
				time.Sleep(10 * time.Minute)
				one.end()
				two.end()
				if worst := stop(); worst != c.want {
					t.Errorf("%d were unavailable at once, want %d", worst, c.want)
				}
				if done := l.restarted(6); len(done) != 6 {
					t.Errorf("only %v were restarted", done)
				}
			})
		})
	}
}

func TestSessionsShareABudgetThoughProxmoxIsSlow(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.makeTeams()
		if _, err := l.sim.AddFault(pvesim.Fault{Path: "/cluster/resources", Delay: pvesim.Duration(12 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		east, west := l.twoTeams("8192", model.Allow{Restart: true}, model.Limit{})
		stop := l.worst(6)
		budget := engine.NewBudget(nil)
		one, two := l.partner(budget, "Provider east", east), l.partner(budget, "Provider west", west)
		time.Sleep(20 * time.Minute)
		one.end()
		two.end()
		if worst := stop(); worst != 1 {
			t.Errorf("%d were unavailable at once", worst)
		}
		if done := l.restarted(6); len(done) != 6 {
			t.Errorf("only %v were restarted: %s", done, one.of("web-1").Text)
		}
	})
}

func TestNothingElseIsRestartedInAnySessionWhenOneDoesntComeBack(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.makeTeams()
		if _, err := l.sim.AddFault(pvesim.Fault{Path: "/nodes/*/qemu/*/agent/**", VM: l.id("web-0"), Status: 500, Reason: "QEMU guest agent is not running"}); err != nil {
			t.Fatal(err)
		}
		east, west := l.twoTeams("8192", model.Allow{Restart: true}, model.Limit{})
		budget := engine.NewBudget(nil)
		one := l.partner(budget, "Provider east", east)
		time.Sleep(time.Minute)
		two := l.partner(budget, "Provider west", west)
		time.Sleep(30 * time.Minute)
		if done := l.restarted(6); len(done) > 1 {
			t.Errorf("%v were restarted", done)
		}
		const hidden = "a machine of another namespace that uses small has to be ready first"
		if o := two.of("web-4"); o.Wait == nil || o.Wait.Reason != model.WaitRollout || !strings.HasPrefix(o.Text, hidden) {
			t.Errorf("web-4 is %s: %s", o.State, o.Text)
		}
		if o := one.of("web-1"); o.Wait == nil || !strings.Contains(o.Text, "virtualmachine/east/web-0 has to be ready first (at most 1 unavailable)") {
			t.Errorf("web-1 is %s: %s", o.State, o.Text)
		}
		// Another process sees that, too.
		one.end()
		two.end()
		budget = engine.NewBudget(nil)
		two = l.partner(budget, "Provider west", west)
		one = l.partner(budget, "Provider east", east)
		time.Sleep(30 * time.Minute)
		two.end()
		one.end()
		if done := l.restarted(6); len(done) > 1 {
			t.Errorf("%v were restarted by another process", done)
		}
	})
}

// id is the VMID of a machine.
func (l *lab) id(name string) (id int) {
	l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) { id = vm.ID })
	return id
}

// Machines of a Provider that can't be asked may all be down.
func TestMachinesThatNobodyLooksAfterCountAsUnavailable(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		// They are of one namespace, so that it is told which.
		l.mustConverge(desired(l.inNamespace("east", classed(6, "4096", model.Allow{}, model.Limit{}))...))
		all := l.inNamespace("east", classed(6, "8192", model.Allow{Restart: true}, model.Limit{}))
		east, west := all[:3], all[3:]
		budget := engine.NewBudget(nil)
		away := budget.Join("Provider west")
		away.Expect(desired(west...))
		one := l.partner(budget, "Provider east", east)
		time.Sleep(10 * time.Minute)
		if done := l.restarted(6); len(done) > 0 {
			t.Errorf("%v were restarted", done)
		}
		const want = "virtualmachine/east/web-3, whose state isn't known (Provider west isn't connected), has to be ready first (at most 1 unavailable)"
		if o := one.of("web-0"); o.Text != want {
			t.Errorf("web-0 says %q, want %q", o.Text, want)
		}
		// Somebody connects, whose Proxmox refuses the login.
		two := &partner{party: away, latest: map[string]engine.Outcome{}}
		two.connect(l.connect(pve.Token("root@pam!lab", "wrong")), desired(west...))
		time.Sleep(10 * time.Minute)
		if o := one.of("web-0"); !strings.Contains(o.Text, "state isn't known (Provider west: Proxmox refuses the login") {
			t.Errorf("web-0 says %q", o.Text)
		}
		two.end()
		stop := l.worst(6)
		two.connect(l.connect(pve.Token("root@pam!lab", secret)), desired(west...))
		time.Sleep(10 * time.Minute)
		two.end()
		one.end()
		if worst := stop(); worst != 1 {
			t.Errorf("%d were unavailable at once", worst)
		}
		if done := l.restarted(6); len(done) != 6 {
			t.Errorf("only %v were restarted", done)
		}
	})
}

// A process that has just begun doesn't know all machines of a class yet.
func TestNothingIsRestartedBeforeAllThatIsWantedWasRead(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.makeTeams()
		east, west := l.twoTeams("8192", model.Allow{Restart: true}, model.Limit{})
		var mu sync.Mutex
		read := false
		budget := engine.NewBudget(func(_ context.Context, group string) ([]model.Absent, bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if read {
				return nil, true, nil
			}
			return []model.Absent{{Key: west[0].Owner.Key, Unknown: "namespace west hasn't been read yet"}}, false, nil
		})
		one := l.partner(budget, "Provider east", east)
		time.Sleep(5 * time.Minute)
		const want = "a machine of another namespace that uses small, and whose state isn't known at present, has to be ready first (at most 1 unavailable)"
		if o, done := one.of("web-0"), l.restarted(6); o.Text != want || len(done) > 0 {
			t.Errorf("web-0 says %q; %v were restarted", o.Text, done)
		}
		mu.Lock()
		read = true
		mu.Unlock()
		time.Sleep(5 * time.Minute)
		one.end()
		if done := l.restarted(3); len(done) != 3 {
			t.Errorf("only %v were restarted", done)
		}
	})
}

// A session that works for others already has to be told first what this one looks after.
func TestMachinesThatNobodyWasToldOfCountAsUnavailable(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.makeTeams()
		east, west := l.twoTeams("8192", model.Allow{Restart: true}, model.Limit{})
		busy := l.serve(l.connect(pve.Token("root@pam!lab", secret)))
		defer busy.end()
		busy.Want(desired(), nil)
		time.Sleep(time.Minute)
		budget := engine.NewBudget(nil)
		party := budget.Join("Provider west")
		party.Expect(desired(west...))
		late := busy.Join(engine.Options{Party: party})
		one := l.partner(budget, "Provider east", east)
		defer one.end()
		time.Sleep(10 * time.Minute)
		if done := l.restarted(6); len(done) > 0 {
			t.Errorf("%v were restarted", done)
		}
		stop := l.worst(6)
		late.Want(desired(west...), nil)
		time.Sleep(10 * time.Minute)
		if worst, done := stop(), l.restarted(6); worst != 1 || len(done) != 6 {
			t.Errorf("%d were unavailable at once, and %v were restarted", worst, done)
		}
		// It leaves, and nobody looks after its machines any more.
		<-late.Leave()
		larger := l.inNamespace("east", classed(3, "6144", model.Allow{Restart: true}, model.Limit{}))
		one.Want(desired(larger...), nil)
		time.Sleep(10 * time.Minute)
		if o := one.of("web-0"); o.Wait == nil || o.Wait.Reason != model.WaitRollout {
			t.Errorf("web-0 is %s: %s", o.State, o.Text)
		}
	})
}

// Who leaves takes its machines along.
func TestAPartyThatLeavesHoldsNobody(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.makeTeams()
		east, west := l.twoTeams("8192", model.Allow{Restart: true}, model.Limit{})
		budget := engine.NewBudget(nil)
		gone := budget.Join("Provider west")
		gone.Expect(desired(west...))
		one := l.partner(budget, "Provider east", east)
		time.Sleep(time.Minute)
		gone.Leave()
		time.Sleep(5 * time.Minute)
		one.end()
		if done := l.restarted(3); len(done) != 3 {
			t.Errorf("only %v were restarted", done)
		}
	})
}
