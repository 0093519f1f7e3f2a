package karpenter

import (
	"flag"
	"fmt"
	"testing"
	"time"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// together is how many nodes are made at once.
var together = flag.Int("together", 40, "nodes that are made at once")

// Many nodes at once cost few requests each, from the NodeClaim until nothing is left of the join: the certificates that the kubelet asks for,
// and the first-boot data that are taken away.
func TestNodesTakeFewRequests(t *testing.T) {
	const most = 17 // seven of them to take the first-boot data away
	n := *together
	w := labWorld()
	for i := range w.Nodes {
		w.Nodes[i].CPUs, w.Nodes[i].Memory = 4096, 16<<40
	}
	w.Load = pvesim.Load{}
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.settle()
		time.Sleep(time.Minute)
		ours := &machines{client: l.client, provider: l.CloudProvider}
		claims, from, begun := make([]*v1.NodeClaim, n), l.sim.RequestCount(), time.Now()
		done := make(chan struct{})
		for i := range claims {
			c := l.claim(fmt.Sprintf("node-%d", i))
			go func() {
				defer func() { done <- struct{}{} }()
				claims[i] = l.create(c)
				time.Sleep(2 * time.Second) // it boots
				for range 2 {               // certificates
					if m, err := ours.ByNode(t.Context(), c.Name); err != nil || m == nil {
						t.Errorf("%s: %v", c.Name, err)
					}
				}
				c.StatusConditions().SetTrue(v1.ConditionTypeInitialized)
				if err := l.client.Status().Update(t.Context(), c); err != nil {
					t.Error(err)
				}
				k := &keeper{client: l.client, provider: l.CloudProvider}
				if _, err := k.Reconcile(t.Context(), request(c.Name)); err != nil {
					t.Error(err)
				}
			}()
		}
		for range claims {
			<-done
		}
		took := time.Since(begun)
		for _, c := range claims {
			if _, err := l.regions.all["lab"].Site.Await(t.Context(), l.ownerOf(c), site.Ready); err != nil {
				t.Fatal(err)
			}
		}
		requests := l.sim.Requests(from)
		each := float64(len(requests)) / float64(n)
		t.Logf("%d nodes in %v, all done after %v: %.1f requests each\n%s", n, took, time.Since(begun), each, sim.KindsOf(requests))
		if each > most {
			t.Errorf("%d nodes take %.1f requests each, want %d at most:\n%s", n, each, most, sim.KindsOf(requests))
		}
	})
}
