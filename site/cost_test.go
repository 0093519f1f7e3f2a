package site_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// Some callers want a few machines at a time, and the next ones when these are there: Terraform, ten by default. These
// are few on each node, so that little of what is asked for serves several of them.
func TestTenMachinesAtATimeTakeFewRequests(t *testing.T) {
	const machines, atATime, nodes = 100, 10, 5
	w := labWorld(nodes)
	w.Load = pvesim.Load{}
	inWorld(t, w, func(t *testing.T, l *lab) {
		s := l.open(site.Options{Door: "test", Set: "fleet"})
		defer s.Close()
		before, begun := l.sim.RequestCount(), time.Now()
		places := make(chan int, machines)
		for i := range machines {
			places <- i
		}
		close(places)
		var all sync.WaitGroup
		for range atATime {
			all.Go(func() {
				for i := range places {
					o, vm := owner("fleet", fmt.Sprint("node-", i)), machine(2)
					vm.Disks[0].Size = 10 << 30
					l.put(s, vm, o)
					l.await(s, o, site.Ready)
					if _, err := s.Read(t.Context(), o); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		took, n := time.Since(begun), l.sim.RequestCount()-before
		t.Logf("%v, %.1f requests a machine\n%s", took, float64(n)/machines, sim.KindsOf(l.sim.Requests(before)))
		if per := float64(n) / machines; per > 10 {
			t.Errorf("a machine takes %.1f requests, want at most 10", per)
		}
		// Clone, config, resize, start and agent, ten times one after the other.
		const bound = 10 * (2000 + 200 + 300 + 1000 + 3000) * time.Millisecond
		if took > bound*11/10 {
			t.Errorf("it took %v, which is more than 1.1 × %v", took, bound)
		}
	})
}
