package machines

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// together is how many Machines are made at once.
var together = flag.Int("together", 100, "Machines that are made at once")

// control reconciles Machines as a controller does: when something of them has changed, and when they ask for it. It returns what ends it.
func (l *lab) control() (wake func(name string), end func()) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	if err := l.fleet.feed.Start(l.t.Context(), queue); err != nil {
		l.t.Fatal(err)
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				q, over := queue.Get()
				if over {
					return
				}
				res, err := l.Reconcile(l.t.Context(), q)
				if err != nil {
					queue.AddRateLimited(q)
				} else if queue.Forget(q); res.RequeueAfter > 0 {
					queue.AddAfter(q, res.RequeueAfter)
				}
				queue.Done(q)
			}
		})
	}
	return func(name string) {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "kube-system", Name: name}})
		}, func() {
			queue.ShutDown()
			all.Wait()
		}
}

// busyWorld has five nodes with a template on the local storage of each, the times of a real Proxmox, and few workers: questions to agents that aren't up yet hold them up.
func busyWorld(boots time.Duration) *pvesim.World {
	const nodes = 5
	ms := func(n int) pvesim.Duration { return pvesim.Duration(time.Duration(n) * time.Millisecond) }
	w := labWorld()
	node, template := w.Nodes[0], w.Guests[0]
	node.CPUs, node.Memory = 4096, 16<<40
	w.Nodes, w.Guests = nil, nil
	for i := range nodes {
		node.Name = fmt.Sprintf("pve%d", i+1)
		template.ID, template.Node, template.Config = 9001+i, node.Name, maps.Clone(template.Config)
		template.Config["scsi0"] = "local:8,format=qcow2"
		w.Nodes, w.Guests = append(w.Nodes, node), append(w.Guests, template)
	}
	w.Timing.Clone, w.Timing.Link, w.Timing.Config, w.Timing.Resize, w.Timing.Start = 0, ms(2000), ms(200), ms(300), ms(1000)
	w.Timing.Boot, w.Timing.Agent = pvesim.Duration(boots), pvesim.Duration(boots)
	w.Load.Workers = 3
	return w
}

// Many Machines at once cost few requests each, from the first until the last one is a node. Guests take as long as real ones: questions to
// agents that aren't up yet, and what is asked again while they boot, count, too. As in the benchmark, there was one machine before.
func TestMachinesTakeFewRequests(t *testing.T) {
	const (
		most  = 9 // 8.4 with a hundred of them
		boots = 25 * time.Second
		joins = 5 * time.Second // the kubelet, and its certificates

		mostPatches = 4.3 // VMID, that the guest runs, its addresses, its node
		mostAfter   = 1.5 // one, and of those that wait for long until others have lost theirs, that they do
	)
	n := *together
	inLab(t, busyWorld(boots), nil, func(t *testing.T, l *lab) {
		wake, end := l.control()
		defer end()
		begin := func(name string) {
			m := machineOf(name)
			raw := m.Spec.ProviderSpec.Value
			raw.Raw = bytes.Replace(raw.Raw, []byte(`"vmTemplateID":9000`), []byte(`"template":"ubuntu"`), 1)
			born(m, time.Now()) // as those of a MachineSet are
			l.add(m)
			wake(name)
		}
		begin("first")
		for !l.is("first", phaseJoining) {
			time.Sleep(time.Second)
		}
		time.Sleep(2 * boots)
		if err := l.direct.Delete(t.Context(), l.machine("first")); err != nil {
			t.Fatal(err)
		}
		wake("first")
		for !l.is("first", "") {
			time.Sleep(time.Second)
		}
		l.patched.Store(0)

		from, begun := l.sim.RequestCount(), time.Now()
		names := map[string]bool{}
		for i := range n {
			name := fmt.Sprintf("web-%d", i)
			names[name] = true
			begin(name)
		}
		for len(names) > 0 {
			time.Sleep(100 * time.Millisecond)
			var up []string
			l.sim.Do(func(s *pvesim.State) {
				for _, vm := range s.VMs {
					if names[vm.Name()] && vm.Run != nil && !vm.Run.Booted.IsZero() && time.Now().After(vm.Run.Booted.Add(joins)) {
						up = append(up, vm.Name())
					}
				}
			})
			for _, name := range up {
				l.joinsAsNode(l.machine(name))
				wake(name)
				delete(names, name)
			}
		}
		joined, patches := l.sim.Requests(from), float64(l.patched.Load())/float64(n)
		took := time.Since(begun)
		time.Sleep(time.Minute)
		requests := l.sim.Requests(from)
		each := float64(len(joined)) / float64(n)
		t.Logf("%d machines are nodes in %v: %.1f requests each, %.1f patches\n%s\nand %.1f after another minute:\n%s", n, took, each, patches, sim.KindsOf(joined), float64(len(requests))/float64(n), sim.KindsOf(requests[len(joined):]))
		if each > most {
			t.Errorf("%d machines take %.1f requests each, want %d at most:\n%s", n, each, most, sim.KindsOf(joined))
		}
		if patches > mostPatches {
			t.Errorf("%d Machines are patched %.1f times each, want %.1f at most", n, patches, mostPatches)
		}
		if after := float64(l.patched.Load())/float64(n) - patches; after > mostAfter {
			t.Errorf("%d Machines are patched %.1f times each when their first-boot data go, want %.1f at most", n, after, mostAfter)
		}
	})
}
