package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// caller is another one that shares a session.
type caller struct {
	*session
	set string
}

func (s *session) join(set string) *caller {
	c := &caller{s.l.newSession(), set}
	c.Session = s.Join(c.listens())
	return c
}

// wants has the caller want machines, as those of its own set.
func (c *caller) wants(vms ...model.VM) {
	d := desired(vms...)
	d.Set, d.Images[0].Owner.Set = c.set, c.set
	for i := range d.VMs {
		d.VMs[i].Owner.Set = c.set
	}
	c.Want(d, nil)
}

func TestCallersOfOneSessionAreApart(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		s := l.serve(l.client)
		defer s.end()
		blue, red := s.join("blue"), s.join("red")
		web := machine("web")
		web.Labels = map[string]string{"app": "web"}
		web.Place.AntiAffinity = []model.Selector{{Key: "app", Operator: "In", Values: []string{"web"}}}
		blue.wants(web)
		other := web
		other.NICs = []model.NIC{{Slot: "net0", Name: "lan", Model: "virtio", Bridge: "vmbr1", MAC: macOf("other")}}
		red.wants(other)
		one, two := blue.await("web", engine.StateReady), red.await("web", engine.StateReady)
		if one.VMID == two.VMID || one.Owner == two.Owner {
			t.Errorf("they share a machine: %+v, %+v", one, two)
		}
		// What fails of one is no failure of the other's object of the same name.
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "PUT", Path: fmt.Sprintf("/nodes/*/qemu/%d/config", one.VMID), Status: 400, Reason: "Parameter verification failed."}); err != nil {
			t.Fatal(err)
		}
		web.Tags, other.Tags = []string{"new"}, []string{"new"}
		blue.wants(web)
		red.wants(other)
		blue.await("web", engine.StateFailed)
		time.Sleep(time.Minute)
		if o := red.of("web"); o.State != engine.StateReady || o.Failure != nil {
			t.Errorf("the other's is %+v", o)
		}
		blue.mu.Lock()
		defer blue.mu.Unlock()
		if slices.ContainsFunc(blue.events, func(e engine.Event) bool { return e.Owner.Set != "blue" }) {
			t.Errorf("one caller has heard of what is another's: %+v", blue.events)
		}
	})
}

func TestManyCallersAskProxmoxNoMoreThanOne(t *testing.T) {
	const machines = 12
	atRest := func(callers int) (n int) {
		inLab(t, labWorld(3), func(t *testing.T, l *lab) {
			s := l.serve(l.client)
			defer s.end()
			var all sync.WaitGroup
			for i := range callers {
				c := s.join(fmt.Sprintf("set-%d", i))
				var own []model.VM
				for j := range machines / callers {
					own = append(own, machine(fmt.Sprintf("web-%d-%d", i, j)))
				}
				c.wants(own...)
				all.Go(func() {
					for _, v := range own {
						c.await(v.Name, engine.StateReady)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Minute)
			before := l.sim.RequestCount()
			time.Sleep(10 * time.Minute)
			n = l.sim.RequestCount() - before
		})
		return n
	}
	one, many := atRest(1), atRest(machines)
	if one == 0 || many > one {
		t.Errorf("in ten minutes %d callers make %d requests, and one makes %d for the same machines", machines, many, one)
	}
}

func TestACallerLeavesItsMachinesAsTheyAre(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		s := l.serve(l.client)
		defer s.end()
		stays, leaves := s.join("stays"), s.join("leaves")
		stays.wants(machine("one"))
		stays.await("one", engine.StateReady)
		leaves.wants(machine("two"), machine("three"))
		leaves.await("two", engine.StateChanging)
		<-leaves.Leave()
		before := l.sim.RequestCount()
		time.Sleep(10 * time.Minute)
		if after := l.requests(before); writes(after) > 0 {
			t.Errorf("the one who wanted it has left, and it is gone on with: %q", after)
		}
		if l.named("two") == nil {
			t.Error("the machine that was being made is gone")
		}
		// Whoever wants it next finds it.
		again := s.join("leaves")
		again.wants(machine("two"), machine("three"))
		again.await("two", engine.StateReady)
		again.await("three", engine.StateReady)
		if n := len(l.ours()); n != 3 {
			t.Errorf("there are %d machines", n)
		}
	})
}

func TestWhoJoinsLateIsToldOfTrouble(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		early := s.join("early")
		early.wants(machine("one"))
		early.await("one", engine.StateReady)
		id, err := l.sim.AddFault(pvesim.Fault{Path: "**", Drop: "before"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		late := s.join("late")
		late.wants(machine("two"))
		time.Sleep(time.Second)
		if early.away() == nil || late.away() == nil {
			t.Errorf("the one who was there is told %+v, the one who came %+v", early.away(), late.away())
		}
		l.sim.RemoveFault(id)
		late.await("two", engine.StateReady)
		if late.away() != nil {
			t.Errorf("it is over, and told as %+v", late.away())
		}
	})
}
