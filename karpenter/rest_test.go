package karpenter

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/test/kit/sim"
)

// atRest is how many nodes there are at rest; make bench-karpenter has 1,000.
var atRest = flag.Int("rest", 24, "nodes at rest")

// minuteAtRest counts the requests a minute with so many nodes of which nothing is wanted, while all do what they do at rest: Karpenter lists
// machines and instance types and asks for drift, and our controllers look at templates, classes and machines.
func minuteAtRest(t *testing.T, nodes int) (requests float64) {
	w := labWorld()
	for i := range w.Nodes {
		w.Nodes[i].CPUs, w.Nodes[i].Memory = 4096, 16<<40
	}
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.settle()
		claims := make([]*v1.NodeClaim, nodes)
		done := make(chan struct{})
		for i := range claims {
			c := l.claim(fmt.Sprintf("node-%d", i))
			go func() {
				defer func() { done <- struct{}{} }()
				claims[i] = l.create(c)
			}()
		}
		for range claims {
			<-done
		}
		for _, c := range claims {
			l.initialized(c)
		}
		time.Sleep(10 * time.Minute)
		collect := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log}
		keep := &keeper{client: l.client, provider: l.CloudProvider}
		const minutes = 10
		from := l.sim.RequestCount()
		for minute := range minutes {
			if err := collect.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.listed()
			for range 6 { // each ten seconds
				if _, err := l.instanceTypes(t.Context(), l.class()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
			}
			if minute%5 != 0 {
				continue
			}
			for _, c := range claims {
				if _, err := l.IsDrifted(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if _, err := keep.Reconcile(t.Context(), request(c.Name)); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range []reconcile.Reconciler{&unmanaged{client: l.client, regions: l.regions}, &classes{client: l.client, provider: l.CloudProvider}} {
				if _, err := r.Reconcile(t.Context(), request("default")); err != nil {
					t.Fatal(err)
				}
			}
		}
		requests = float64(l.sim.RequestCount()-from) / minutes
		t.Logf("%d nodes, in %d minutes:\n%s", nodes, minutes, sim.KindsOf(l.sim.Requests(from)))
		if n := l.guests(); n != nodes {
			t.Errorf("there are %d machines", n)
		}
	})
	return requests
}

// Proxmox is asked no more for many nodes than for none.
func TestRequestsAtRestDontGrowWithNodes(t *testing.T) {
	const few, most = 0, 12
	some, many := minuteAtRest(t, few), minuteAtRest(t, *atRest)
	t.Logf("requests a minute at rest: %.1f with %d nodes, %.1f with %d", some, few, many, *atRest)
	if many > most {
		t.Errorf("%.1f requests a minute with %d nodes, want %d at most", many, *atRest, most)
	}
	if many > some+1 {
		t.Errorf("%.1f requests a minute with %d nodes, and %.1f with %d", many, *atRest, some, few)
	}
}
