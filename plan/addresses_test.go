package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// dualPool is a pool with three addresses of each family.
func dualPool() model.AddressPool {
	pool := lanPool()
	pool.Prefix6, pool.Gateway6 = netip.MustParsePrefix("fd00::/64"), "fd00::1"
	pool.Ranges = append(pool.Ranges, model.AddressRange{First: netip.MustParseAddr("fd00::100"), Last: netip.MustParseAddr("fd00::102")})
	return pool
}

func addressStages() (stages []situation) {
	for name, pool := range inOrder(map[string]model.AddressPool{"IPv4": lanPool(), "both families": dualPool()}) {
		begin := func(d *model.Desired) {
			d.VMs[0].Leases = []model.Lease{{Slot: "net0", Pool: pool}}
			d.VMs[0].Seed = &model.Seed{Storage: "nfs", Digest: "aaaaaaaaaaaaaaaa", Recipe: &model.Recipe{}}
		}
		add := func(what string, do func(t *testing.T, w *world, d *model.Desired)) {
			stages = append(stages, situation{name + ", " + what, func(t *testing.T, w *world, d *model.Desired) { begin(d); do(t, w, d) }})
		}
		add("new", func(*testing.T, *world, *model.Desired) {})
		add("cloned", func(_ *testing.T, w *world, d *model.Desired) { w.turns(d, 1) })
		add("cloned, and no list shows it", func(_ *testing.T, w *world, d *model.Desired) {
			w.turns(d, 1)
			w.seeing(func(o *model.Observed) {
				for _, g := range o.Guests {
					g.Shown = g.Template
				}
			})
		})
		add("made", func(t *testing.T, w *world, d *model.Desired) { w.settle(t, d) })
		add("made, and without its claim", func(t *testing.T, w *world, d *model.Desired) {
			w.settle(t, d)
			w.guest("web").Config.Marker.Addresses = nil
		})
		add("made without a pool", func(t *testing.T, w *world, d *model.Desired) {
			leases := d.VMs[0].Leases
			d.VMs[0].Leases = nil
			w.settle(t, d)
			d.VMs[0].Leases = leases
		})
		add("one of two", func(_ *testing.T, _ *world, d *model.Desired) {
			v := deep(d.VMs[0])
			v.Owner.Name, v.Name, v.NICs[0].MAC, v.Leases = "second", "second", "", d.VMs[0].Leases
			d.VMs = append(d.VMs, v)
		})
		add("made anew", func(_ *testing.T, _ *world, d *model.Desired) {
			d.VMs[0].Had = []string{"192.168.1.102", "fd00::101", "10.0.0.1", "no address", "192.168.1.102"}
		})
	}
	return stages
}

func addressTroubles() (list troubles) {
	for _, a := range []string{"192.168.1.100", "192.168.1.101", "192.168.1.102", "fd00::100"} {
		addr := netip.MustParseAddr(a)
		option := "ip=" + a + "/24"
		if addr.Is6() {
			option = "ip6=" + a + "/64"
		}
		for _, id := range []int{101, 5900} {
			list.add(fmt.Sprintf("VM %d has %s", id, a), func(w *world, _ *model.Desired) {
				w.plain(id, "theirs", "pve3").Config.Options["ipconfig0"] = option
			})
			list.add(fmt.Sprintf("VM %d claims %s", id, a), func(w *world, _ *model.Desired) {
				g := w.plain(id, "theirs", "pve3")
				g.Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "theirs"), VMID: id, Addresses: map[string][]string{"net0": {a}}}
			})
		}
		list.add("a machine that is being made gets "+a, func(w *world, _ *model.Desired) {
			w.seeing(func(o *model.Observed) {
				o.Placed = map[int]model.Placement{5901: {Owner: owner("VirtualMachine", "making"), Node: "pve2", Addresses: []netip.Addr{addr}}}
			})
		})
		for _, half := range []bool{false, true} {
			list.add(fmt.Sprintf("a machine that is being made gets %s, and is seen (half %t)", a, half), func(w *world, _ *model.Desired) {
				w.plain(5901, "making", "pve2").Config.Half = half
				w.seeing(func(o *model.Observed) {
					o.Placed = map[int]model.Placement{5901: {Owner: owner("VirtualMachine", "making"), Node: "pve2", Addresses: []netip.Addr{addr}}}
				})
			})
		}
		list.add(a+" is kept for another one", func(w *world, _ *model.Desired) {
			w.seeing(func(o *model.Observed) {
				o.Kept = map[model.Owner][]netip.Addr{owner("VirtualMachine", "replaced"): {addr}}
			})
		})
		list.add(a+" is kept for it", func(w *world, d *model.Desired) {
			w.seeing(func(o *model.Observed) { o.Kept = map[model.Owner][]netip.Addr{d.VMs[0].Owner: {addr}} })
		})
		list.add("it has "+a+" by hand", func(w *world, _ *model.Desired) {
			for _, g := range w.Guests {
				if g.Name == "web" {
					g.Config.Options["ipconfig0"] = option
				}
			}
		})
		list.add(a+" is kept for it, and somebody has it", func(w *world, d *model.Desired) {
			w.plain(101, "theirs", "pve3").Config.Options["ipconfig0"] = option
			w.seeing(func(o *model.Observed) { o.Kept = map[model.Owner][]netip.Addr{d.VMs[0].Owner: {addr}} })
		})
	}
	list.add("one of two rivals has it, the other one claims it", func(w *world, _ *model.Desired) {
		for _, a := range []string{"192.168.1.100", "192.168.1.101", "192.168.1.102"} {
			w.plain(5900, "has", "pve3").Config.Options["ipconfig0"] = "ip=192.168.1.101/24"
			claims := w.plain(101, "claims", "pve3")
			claims.Config.Marker = &model.Marker{Owner: owner("VirtualMachine", "claims"), VMID: 101, Addresses: map[string][]string{"net0": {"192.168.1.101", a}}}
		}
	})
	list.add("two rivals with higher VMIDs claim it", func(w *world, _ *model.Desired) {
		for _, id := range []int{5910, 5905} {
			g := w.plain(id, "claims-"+itoa(id), "pve3")
			g.Config.Marker = &model.Marker{Owner: owner("VirtualMachine", g.Name), VMID: id, Addresses: map[string][]string{"net0": {"192.168.1.101"}}}
		}
	})
	list.add("all are taken", func(w *world, _ *model.Desired) {
		occupy(w, "192.168.1.100", "192.168.1.101", "192.168.1.102", "fd00::100")
	})
	list.add("all of IPv6 are taken", func(w *world, _ *model.Desired) { occupy(w, "fd00::100", "fd00::101", "fd00::102") })
	list.add("more than all are taken", func(w *world, _ *model.Desired) {
		occupy(w, "192.168.1.99", "192.168.1.100", "192.168.1.101", "192.168.1.102", "192.168.1.103", "fd00::100", "fd00::101", "fd00::102")
	})
	list.add("a node with a guest is offline", func(w *world, _ *model.Desired) {
		w.plain(101, "theirs", "pve3")
		w.Nodes["pve3"].Online = false
	})
	list.add("a node with a guest isn't there", func(w *world, _ *model.Desired) { w.plain(101, "theirs", "pve9") })
	list.add("a node with a template is offline", func(w *world, _ *model.Desired) {
		w.template(9100, "another", "pve3", "nfs")
		w.Nodes["pve3"].Online = false
	})
	list.add("its own node is offline", func(w *world, _ *model.Desired) {
		for _, g := range w.Guests {
			if g.Name == "web" {
				w.Nodes[g.Node].Online = false
			}
		}
	})
	list.add("somebody's config isn't read", func(w *world, _ *model.Desired) {
		w.plain(101, "theirs", "pve3")
		w.seeing(func(o *model.Observed) { o.Guests[101].Config = nil })
	})
	list.add("a guest that is being made isn't read", func(w *world, _ *model.Desired) {
		w.plain(5901, "making", "pve2")
		w.seeing(func(o *model.Observed) {
			o.Guests[5901].Config = nil
			o.Placed = map[int]model.Placement{5901: {Owner: owner("VirtualMachine", "making"), Node: "pve2", Addresses: []netip.Addr{netip.MustParseAddr("192.168.1.100")}}}
		})
	})
	list.add("a guest that is being made isn't read, and gets no address", func(w *world, _ *model.Desired) {
		w.plain(5901, "making", "pve2")
		w.seeing(func(o *model.Observed) {
			o.Guests[5901].Config = nil
			o.Placed = map[int]model.Placement{5901: {Owner: owner("VirtualMachine", "making"), Node: "pve2"}}
		})
	})
	list.add("the pool is another one", func(_ *world, d *model.Desired) {
		for i := range d.VMs {
			d.VMs[i].Leases = slices.Clone(d.VMs[i].Leases)
			d.VMs[i].Leases[0].Pool.Prefix = netip.MustParsePrefix("10.1.0.0/16")
			d.VMs[i].Leases[0].Pool.Ranges = []model.AddressRange{{First: netip.MustParseAddr("10.1.0.5"), Last: netip.MustParseAddr("10.1.0.6")}}
		}
	})
	list.add("the pool has become smaller", func(_ *world, d *model.Desired) {
		for i := range d.VMs {
			d.VMs[i].Leases = slices.Clone(d.VMs[i].Leases)
			r := &d.VMs[i].Leases[0].Pool.Ranges
			*r = slices.Clone(*r)
			(*r)[0].First = netip.MustParseAddr("192.168.1.102")
		}
	})
	list.add("it is to have no address from a pool any more", func(_ *world, d *model.Desired) { d.VMs[0].Leases = nil })
	list.add("a second interface has the same pool", func(_ *world, d *model.Desired) {
		v := &d.VMs[0]
		v.NICs = append(v.NICs, model.NIC{Slot: "net1", Name: "two", Model: "virtio", Bridge: "vmbr0"})
		if len(v.Leases) > 0 {
			v.Leases = append(slices.Clone(v.Leases), model.Lease{Slot: "net1", Pool: v.Leases[0].Pool})
		}
	})
	return list
}

// occupy gives guests of somebody else's some addresses.
func occupy(w *world, addresses ...string) {
	for i, a := range addresses {
		option := "ip=" + a + "/24"
		if netip.MustParseAddr(a).Is6() {
			option = "ip6=" + a + "/64"
		}
		w.plain(200+i, "their-"+itoa(i), "pve3").Config.Options["ipconfig0"] = option
	}
}

// TestAddressesAreNobodyElses: whatever others have, claim, are given or have had, no two guests get one address.
func TestAddressesAreNobodyElses(t *testing.T) {
	matrix(t, "addresses", addressStages(), addressTroubles())
}

// TestNoTwoMachinesHaveAnAddress: after all troubles that end by themselves, too.
func TestNoTwoMachinesHaveAnAddress(t *testing.T) {
	w := newWorld()
	var vms []model.VM
	for i := range 3 {
		v := testVM("web-" + itoa(i))
		v.NICs[0].MAC, v.Leases = "", []model.Lease{{Slot: "net0", Pool: dualPool()}}
		vms = append(vms, v)
	}
	converge(quiet{t}, w, desired(vms...))
	has := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(w.Guests)) {
		g := w.Guests[id]
		for _, a := range model.IPConfig(g.Config.Options["ipconfig0"]) {
			if other := has[a.Addr().String()]; other != "" {
				t.Errorf("%s and %s have %s", other, g.Name, a.Addr())
			}
			has[a.Addr().String()] = g.Name
		}
	}
	if len(has) != 6 {
		t.Errorf("these have addresses: %v", has)
	}
}
