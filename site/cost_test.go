package site_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
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
		t.Logf("%v, %.1f requests a machine\n%s", took, float64(n)/machines, kinds(l.sim.Requests(before)))
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

var particular = regexp.MustCompile(`/UPID[^/]*|/nodes/[^/]+|/\d+`)

// kinds counts requests by what they ask for.
func kinds(list []pvesim.Request) string {
	counts := map[string]int{}
	var all []string
	for _, r := range list {
		path, _, _ := strings.Cut(strings.TrimPrefix(r.URL, "/api2/json"), "?")
		kind := r.Method + " " + particular.ReplaceAllStringFunc(path, func(s string) string {
			if strings.HasPrefix(s, "/nodes/") {
				return "/nodes/NODE"
			}
			return "/ID"
		})
		if counts[kind]++; counts[kind] == 1 {
			all = append(all, kind)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	var b strings.Builder
	for _, k := range all {
		fmt.Fprintf(&b, "%7d %s\n", counts[k], k)
	}
	return b.String()
}
