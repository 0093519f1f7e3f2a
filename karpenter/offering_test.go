package karpenter

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// offering is what is offered of a size in a zone; nil: nothing.
func (l *lab) offering(size, zone string) *cloudprovider.Offering {
	l.t.Helper()
	types, err := l.instanceTypes(l.t.Context(), l.class())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, it := range types {
		for _, o := range it.Offerings {
			if it.Name == size && o.Zone() == zone {
				return o
			}
		}
	}
	return nil
}

// busy has a guest of somebody run on pve2.
func busy(w *pvesim.World, cores, memory string) *pvesim.World {
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 500, Node: "pve2", Running: true, Config: map[string]string{"name": "db", "ostype": "l26", "cores": cores, "memory": memory, "scsi0": "local-lvm:8"}})
	return w
}

// With AvailabilityFirst nodes are packed onto Proxmox nodes in use, by prices as docs/karpenter.md has them; Balanced spreads them.
func TestNodesArePackedOrSpread(t *testing.T) {
	for strategy, want := range map[string]struct {
		prices string
		zones  string
	}{
		api.ZoneAvailabilityFirst: {"0.060 0.054", "map[pve2:4]"},
		api.ZoneBalanced:          {"0.054 0.054", "map[pve1:2 pve2:2]"},
	} {
		objects := talos()
		c := class(api.KindUnmanagedTemplate)
		c.Spec.PlacementStrategy = &api.PlacementStrategy{ZoneBalance: strategy}
		objects[1] = c
		inLab(t, busy(labWorld(), "2", "4096"), objects, func(t *testing.T, l *lab) {
			l.settle()
			const size = "c1.2VCPU-4GB"
			if prices := fmt.Sprintf("%.3f %.3f", l.offering(size, "pve1").Price, l.offering(size, "pve2").Price); prices != want.prices {
				t.Errorf("%s: prices are %s, want %s", strategy, prices, want.prices)
			}
			zones := map[string]int{}
			for i := range 4 {
				zones[l.create(l.claim(fmt.Sprintf("node-%d", i))).Labels[corev1.LabelTopologyZone]]++
			}
			if got := fmt.Sprint(zones); got != want.zones {
				t.Errorf("%s: nodes are on %s, want %s", strategy, got, want.zones)
			}
		})
	}
}

// A machine that can't be made isn't promised, and one that can is.
func TestOnlyWhatThereIsIsPromised(t *testing.T) {
	none := func() *pvesim.World { return sim.Lab(3, pvesim.WorldNode{CPUs: 32, Memory: 64 << 30}, "talos") }
	const large, small = "c1.16VCPU-32GB", "c1.1VCPU-2GB"
	for _, c := range []struct {
		reason       string
		world        *pvesim.World
		change       func(*lab)
		large, small bool // are offered on pve2
	}{
		{"all is free", none(), func(*lab) {}, true, true},
		{"a guest has most of the memory", busy(none(), "2", "40960"), func(*lab) {}, false, true},
		{"guests have all virtual CPUs", busy(none(), "8", "2048"), func(l *lab) { l.factor = 0.25 }, false, false},
		{"of the CPUs one machine can't have as many", none(), func(l *lab) { l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].CPUs = 8 }) }, false, true},
		{"memory is reserved", none(), func(l *lab) { l.settings = NodeSettings{"lab": {"*": {ReservedMemory: 40 << 30}}} }, false, true},
		{"CPUs are reserved", none(), func(l *lab) {
			l.factor = 0.5
			l.settings = NodeSettings{"lab": {"pve2": {ReservedCPUs: []int{0, 1}}}}
		}, false, true},
		{"the node is in maintenance", none(), func(l *lab) {
			if err := l.sim.Maintenance("pve2", true); err != nil {
				l.t.Fatal(err)
			}
		}, false, false},
		{"the node is offline", none(), func(l *lab) { l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Offline }) }, false, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inLab(t, c.world, talos(), func(t *testing.T, l *lab) {
				l.settle()
				c.change(l)
				time.Sleep(time.Minute)
				for size, want := range map[string]bool{large: c.large, small: c.small} {
					if o := l.offering(size, "pve2"); (o != nil && o.Available) != want {
						t.Errorf("%s is offered on pve2: %v, want %v", size, o, want)
					}
				}
				if o := l.offering(small, "pve3"); c.reason != "guests have all virtual CPUs" && (o == nil || !o.Available) {
					t.Errorf("%s isn't offered on pve3: %v", small, o)
				}
			})
		})
	}
}
