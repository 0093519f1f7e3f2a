package terraform_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/kit/sim"
	"github.com/proxplane/proxplane/test/kit/thorough"
)

// fleet is a simulated cluster with the times of the benchmarks, in virtual time, and what Terraform does with it: a process of
// the provider plans, another one plans again and applies.
type fleet struct {
	*client
	cluster *pvesim.Sim
}

const aMachineOfTheBench = "bench-template"

// inFleet runs a test in virtual time.
func inFleet(t *testing.T, test func(*testing.T, *fleet)) {
	t.Helper()
	w, err := pvesim.LoadWorld("../test/bench/world/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		cluster, err := pvesim.New(w)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		test(t, &fleet{client: &client{T: t}, cluster: cluster})
	})
}

// process is a process of the provider, which ends as the function does.
func (f *fleet) process(do func()) {
	f.Helper()
	var open []*site.Site
	rt, stop := f.cluster.Transport()
	f.connectTo(terraform.NewThrough(rt, func(s *site.Site) { open = append(open, s) }), values{
		"set": "bench", "endpoint": "https://pve1:8006", "token_id": "root@pam!bench", "token_secret": "5f0c1c0e-8a57-4c0e-9d0a-2b7f3a9d6e11", "networks": values{"lan": values{"bridge": "vmbr0"}},
	})
	do()
	for _, s := range open {
		s.Close()
	}
	stop()
}

// each does something for n resources, ten at a time as Terraform does.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range 10 {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// cost is what something took.
type cost struct {
	time     time.Duration
	requests []pvesim.Request
}

// measured is what something takes.
func (f *fleet) measured(do func()) cost {
	before, begun := f.cluster.RequestCount(), time.Now()
	do()
	return cost{time.Since(begun), f.cluster.Requests(before)}
}

// made makes resources as `tofu apply` does, and gives their states.
func (f *fleet) made(resources []values) []resourceState {
	f.Helper()
	const kind = "proxplane_virtual_machine"
	states := make([]resourceState, len(resources))
	f.process(func() {
		each(len(resources), func(i int) { f.planned(f.none(kind), resources[i]) })
	})
	f.process(func() {
		each(len(resources), func(i int) {
			now, out := f.apply(f.planned(f.none(kind), resources[i]))
			if states[i] = now; out.failed {
				f.Error(out)
			}
		})
	})
	return states
}

// planned is a plan that succeeds.
func (f *fleet) planned(of resourceState, config values) step {
	f.Helper()
	s, out := f.planBeside(of, config)
	if out.failed {
		f.Error(out)
	}
	return s
}

// lookedAt plans again what is there, as `tofu plan` does, which has nothing to do.
func (f *fleet) lookedAt(states []resourceState, resources []values) {
	f.Helper()
	f.process(func() {
		each(len(states), func(i int) {
			now, out := f.read(states[i])
			if out.failed {
				f.Error(out)
			}
			if s := f.planned(now, resources[i]); f.changes(s) {
				f.Errorf("resource %d is to be changed", i)
			}
		})
	})
}

// benchMachine is a machine as the benchmark has it.
func benchMachine(name string, replicas int) values {
	v := values{
		"name": name, "class": values{"cpus": 2, "memory": "1Gi"}, "image": values{"source": aMachineOfTheBench}, "networks": []any{values{"name": "lan"}},
		"disks": []any{values{"name": "root", "size": "10Gi"}}, "tags": []any{"bench"}, "agent": values{"wait_for_address": true},
	}
	if replicas > 1 {
		v["replicas"] = replicas
	}
	return v
}

// bound is the shortest time that one machine takes there.
const bound = (2000 + 200 + 300 + 1000 + 3000 + 5*5) * time.Millisecond

// A few machines take little more than Proxmox needs itself: what is allowed beyond that is for programs to start.
func TestWhatAFewResourcesCost(t *testing.T) {
	for n, most := range map[int]struct {
		rounds   int
		requests float64
	}{1: {1, 50}, 20: {2, 10}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inFleet(t, func(t *testing.T, f *fleet) {
				var resources []values
				for i := range n {
					resources = append(resources, benchMachine(fmt.Sprint("web-", i), 1))
				}
				f.within(f.measured(func() { f.made(resources) }), n, most.requests, time.Duration(most.rounds)*bound*104/100)
			})
		})
	}
}

// With for_each Terraform works on ten machines at a time.
func TestWhatAHundredResourcesCost(t *testing.T) {
	if !thorough.All() {
		t.Skip("replicas run through the same code in a tenth of the time")
	}
	const machines = 100
	inFleet(t, func(t *testing.T, f *fleet) {
		var resources []values
		for i := range machines {
			resources = append(resources, benchMachine(fmt.Sprint("web-", i), 1))
		}
		var states []resourceState
		f.within(f.measured(func() { states = f.made(resources) }), machines, 10, bound*10*11/10)
		f.within(f.measured(func() { f.lookedAt(states, resources) }), 1, machines+20, time.Second)
	})
}

// With replicas all machines are made at once.
func TestWhatTwentyReplicasCost(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		f.within(f.measured(func() { f.made([]values{benchMachine("web", 20)}) }), 20, 10, bound*12/10)
	})
}

func TestWhatAHundredReplicasCost(t *testing.T) {
	const machines = 100
	inFleet(t, func(t *testing.T, f *fleet) {
		resources := []values{benchMachine("web", machines)}
		var states []resourceState
		f.within(f.measured(func() { states = f.made(resources) }), machines, 10, bound*12/10)
		f.within(f.measured(func() { f.lookedAt(states, resources) }), 1, machines+20, time.Second)
	})
}

// Of more machines than a picture reads, others have their turn: a plan of a thousand takes about as many requests as one of a hundred.
func TestWhatAThousandReplicasCost(t *testing.T) {
	if !thorough.All() {
		t.Skip("a hundred run through the same code in a tenth of the time")
	}
	const machines = 1000
	inFleet(t, func(t *testing.T, f *fleet) {
		resources := []values{benchMachine("web", machines)}
		var states []resourceState
		f.within(f.measured(func() { states = f.made(resources) }), machines, 10, bound*15/10)
		f.within(f.measured(func() { f.lookedAt(states, resources) }), 1, 175, time.Second)
	})
}

// within: something costs each of some machines no more than so much.
func (f *fleet) within(c cost, machines int, requests float64, most time.Duration) {
	f.Helper()
	per := float64(len(c.requests)) / float64(machines)
	f.Logf("%v, %.1f requests\n%s", c.time, per, sim.KindsOf(c.requests))
	if per > requests {
		f.Errorf("%.1f requests, want at most %v", per, requests)
	}
	if c.time > most {
		f.Errorf("it took %v, want at most %v", c.time, most)
	}
}

// nobody is a Proxmox that a firewall hides: no request is ever answered.
type nobody struct{}

func (nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A Proxmox that doesn't answer is waited for once, not once for each resource.
func TestAProxmoxThatIsAwayIsWaitedForOnce(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		failing := func(n int) time.Duration {
			begun := time.Now()
			f.connectTo(terraform.NewThrough(nobody{}, func(s *site.Site) { t.Cleanup(s.Close) }), values{"set": "bench", "endpoint": "https://pve1:8006", "token_id": "root@pam!bench", "token_secret": "none", "insecure_skip_verify": true})
			each(n, func(i int) {
				if _, out := f.planBeside(f.none("proxplane_virtual_machine"), benchMachine(fmt.Sprint("web-", i), 1)); !out.failed {
					t.Errorf("web-%d can be planned", i)
				}
			})
			return time.Since(begun)
		}
		if one, all := failing(1), failing(60); all > one*3/2 {
			t.Errorf("one resource fails after %v, and sixty after %v", one, all)
		}
	})
}
