package robustness

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
)

var grouped = flag.Float64("groups", 0.12, "the `PART` of histories that end with addresses from pools, firewalls and maintenance of nodes")

// groups ends some histories with machines that get addresses from a pool and have firewalls, made and removed by several
// processes at once, while nodes are in maintenance. It has dice of its own.
func (a *author) groups() {
	a.dice = newDice(a.h.seed, "groups")
	if !a.chance(*grouped) {
		return
	}
	a.h.group = len(a.h.events)
	a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
	a.made = nil // what happens here happens to machines of the group
	pool := groupPool(a.number(2, 5), a.chance(0.4))
	for range a.number(1, 3) {
		a.createInGroup(pool)
	}
	for range a.number(3, 9) {
		switch a.weighted(6, 3, 2, 2, 2, 2, 2, 2, 1) {
		case 0:
			a.createInGroup(pool)
		case 1:
			a.firewall()
		case 2:
			a.remove()
		case 3:
			a.company()
		case 4:
			a.crash()
		case 5:
			a.maintenance()
		case 6:
			a.other(othersFirewall, "opens its firewall", func(o *others, id int) bool { return o.openFirewall(id) })
		case 7:
			a.other(othersAddress, "gives it another address", func(o *others, id int) bool { return o.config(id, "ipconfig0", "ip=dhcp") })
		case 8:
			a.add(rests, 0, (*run).settle, "nothing, until all is at rest")
			n := a.IntN(5)
			a.add(othersPool, 0, func(r *run) { r.others.takeAddress(pool, n) }, "somebody makes a VM with an address of the pool")
		}
	}
}

// groupPool is a pool with just some addresses.
func groupPool(size int, both bool) model.AddressPool {
	p := model.AddressPool{Name: "lan", Gateway: "10.9.0.1", Prefix: groupPrefix}
	first := []string{"10.9.1.1"}
	if both {
		first, p.Prefix6 = append(first, "fd09::1:1"), groupPrefix6
	}
	for _, text := range first {
		r := model.AddressRange{First: netip.MustParseAddr(text), Last: netip.MustParseAddr(text)}
		for range size - 1 {
			r.Last = r.Last.Next()
		}
		p.Ranges = append(p.Ranges, r)
	}
	return p
}

// The networks of the pool; nothing else in these worlds has an address of them.
var groupPrefix, groupPrefix6 = netip.MustParsePrefix("10.9.0.0/16"), netip.MustParsePrefix("fd09::/64")

// createInGroup wants a machine with an address from the pool, perhaps one that was wanted before.
func (a *author) createInGroup(pool model.AddressPool) {
	i, name := a.setIndex(), "group-"+string(rune('a'+a.IntN(4)))
	v := a.machine(setNames[i], name)
	if v.Source.VM.Name != "" { // a copy would need an address of its own
		v.Source = model.Source{Image: key("VMImage", a.h.world.images[0])}
	}
	v.VMID, v.Retain = 0, false
	delete(v.Options, "ipconfig0")
	v.Managed = managed(v.Options)
	v.Leases = []model.Lease{{Slot: "net0", Pool: pool}}
	v.Update.Move = a.chance(0.5)
	if a.chance(0.5) {
		a.firewallOf(&v)
	}
	a.made = append(a.made, name)
	a.add(wishAddress, a.soon(), func(r *run) {
		if r.sets[i].ask(name, v) {
			r.tells(wishAddress)
		}
	}, "%s/%s: wanted, with an address from a pool of %d, %s", setNames[i], name, pool.Size(model.IPv4), machineText(v))
}

// firewall changes the firewall of a machine, or takes it away.
func (a *author) firewall() {
	var f model.VM
	if a.chance(0.8) {
		a.firewallOf(&f)
	}
	a.change(wishFirewall, fmt.Sprintf("firewall %+v", f.Firewall), func(_ *set, w *wish) {
		w.Firewall = f.Firewall
		w.NICs = slices.Clone(w.NICs)
		for i := range w.NICs {
			w.NICs[i].Firewall = w.Firewall != nil
		}
	})
}

// firewallOf draws a firewall.
func (a *author) firewallOf(v *model.VM) {
	v.Firewall = &model.Firewall{Options: maps.Clone(pick(a.dice,
		map[string]string{"enable": "1"}, map[string]string{"enable": "1", "policy_in": "REJECT"}, map[string]string{"enable": "1", "log_level_in": "info"}))}
	for range a.number(0, 3) {
		v.Firewall.Rules = append(v.Firewall.Rules, pick(a.dice,
			model.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "SSH"},
			model.FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DPort: "8080"},
			model.FirewallRule{Type: "in", Action: "DROP", Source: "10.3.0.0/16"},
			model.FirewallRule{Type: "out", Action: "REJECT", Dest: "10.4.0.0/16"}))
	}
	for i := range v.NICs {
		v.NICs[i].Firewall = true
	}
}

// maintenance: the HA manager has a node in maintenance for a while.
func (a *author) maintenance() {
	node, d := pick(a.dice, a.h.world.nodes...), a.between(20*time.Second, 5*time.Minute)
	a.add(faultMaintenance, a.soon(), func(r *run) { r.maintain(node, d) }, "%s is in maintenance for %v", node, d)
}
