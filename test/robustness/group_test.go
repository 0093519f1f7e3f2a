package robustness

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// maintain has the HA manager put a node into maintenance, and take it out again.
func (r *run) maintain(node string, d time.Duration) {
	if err := r.sim.Maintenance(node, true); err != nil {
		panic(err)
	}
	r.sim.Do(func(s *pvesim.State) {
		if s.HA.Maintenance[node] {
			r.tells(faultMaintenance)
		}
	})
	r.later(d, func() { _ = r.sim.Maintenance(node, false) })
}

// openFirewall lets everything through to a machine.
func (o *others) openFirewall(id int) bool {
	return o.call(id, http.MethodPost, "/firewall/rules", pve.Params{"type": "in", "action": "ACCEPT", "enable": "1"}) &&
		o.call(id, http.MethodPut, "/firewall/options", pve.Params{"policy_in": "ACCEPT"})
}

// takeAddress makes a machine of theirs with an address that nobody has, the nth of those that are free.
func (o *others) takeAddress(pool model.AddressPool, n int) {
	id, address := 7500, netip.Addr{}
	o.run.sim.Do(func(s *pvesim.State) {
		for ; s.VMs[id] != nil; id++ {
		}
		var free []netip.Addr
		held := held(s, 0)
		for a := range pool.Candidates(model.Owner{}, "", model.IPv4) {
			if len(held[a]) == 0 {
				free = append(free, a)
			}
		}
		if len(free) > 0 {
			address = free[n%len(free)]
		}
	})
	if !address.IsValid() || !o.makeWith(id, "theirs", pve.Params{"ipconfig0": fmt.Sprintf("ip=%s/16", address)}) {
		return
	}
	o.run.watch.release(id)
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil && len(held(s, id)[address]) > 0 {
			delete(vm.Conf, "ipconfig0") // one of us has got it meanwhile, and they have seen that
			return
		}
		o.run.tells(othersPool)
	})
	o.run.watch.adopt(id)
}

// held are the addresses of the pool's network that machines have in their configs or claim in their markers, but
// for one of them.
func held(s *pvesim.State, but int) map[netip.Addr][]int {
	out := map[netip.Addr][]int{}
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		if id == but {
			continue
		}
		for _, a := range addressesOf(s.VMs[id]) {
			out[a] = append(out[a], id)
		}
		_, m, _ := model.ParseDescription(s.VMs[id].Conf["description"])
		for _, list := range m.Addresses {
			for _, text := range list {
				if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(out[a], id) {
					out[a] = append(out[a], id)
				}
			}
		}
	}
	return out
}

// addressesOf are the addresses of the pool's network in the config of a machine.
func addressesOf(vm *pvesim.VM) []netip.Addr {
	return slices.DeleteFunc(model.ConfiguredAddresses(vm.Conf), func(a netip.Addr) bool { return !groupPrefix.Contains(a) && !groupPrefix6.Contains(a) })
}

// exhausted reports whether others have all addresses of a family that a machine could get.
func exhausted(s *pvesim.State, w *wish, vm *pvesim.VM) bool {
	own := 0
	if vm != nil {
		own = vm.ID
	}
	taken := held(s, own)
	return slices.ContainsFunc(w.Leases, func(l model.Lease) bool {
		return slices.ContainsFunc(l.Pool.Families(), func(f model.Family) bool {
			for a := range l.Pool.Candidates(w.Owner, l.Slot, f) {
				if len(taken[a]) == 0 {
					return false
				}
			}
			return true
		})
	})
}

// apart checks that no two machines that run have the same address, and that each keeps the one that it ran with.
func (w *watch) apart(s *pvesim.State) (wrong []string) {
	users, now := map[netip.Addr]int{}, map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		vm := s.VMs[id]
		if list := addressesOf(vm); vm.Run != nil && len(list) > 0 {
			for _, a := range list {
				if other := users[a]; other != 0 {
					wrong = append(wrong, fmt.Sprintf("VMs %d and %d run with the address %s", other, id, a))
				}
				users[a] = id
			}
			now[vm.Conf["smbios1"]] = fmt.Sprint(list)
		}
	}
	for system, list := range now {
		if was := w.leased[system]; was != "" && was != list && system != "" {
			wrong = append(wrong, fmt.Sprintf("a machine ran with %s, and has %s now", was, list))
		}
		w.leased[system] = list
	}
	return wrong
}

// compareGroup says what of the addresses and the firewall of a machine isn't as it is wanted.
func (w *wish) compareGroup(s *pvesim.State, vm *pvesim.VM) (wrong []string) {
	for _, l := range w.Leases {
		have := model.IPConfig(vm.Conf[l.Option()])
		for _, f := range l.Pool.Families() {
			if !slices.ContainsFunc(have, func(a model.Address) bool {
				return model.FamilyOf(a.Addr()) == f && l.Pool.Contains(a.Addr()) && a == l.Pool.With(a.Addr())
			}) {
				wrong = append(wrong, fmt.Sprintf("VM %d: %s has no %s address of the pool: %q", vm.ID, l.Slot, f, vm.Conf[l.Option()]))
			}
		}
		for _, a := range have {
			if users := held(s, vm.ID)[a.Addr()]; len(users) > 0 {
				wrong = append(wrong, fmt.Sprintf("VM %d: %s is held by %v, too", vm.ID, a.Addr(), users))
			}
		}
	}
	if w.Firewall != nil {
		if want, have := firewallText(*w.Firewall), firewallText(firewallOf(s, vm.ID)); want != have {
			wrong = append(wrong, fmt.Sprintf("VM %d: firewall should be %s and is %s", vm.ID, want, have))
		}
	}
	return wrong
}

// firewallOf is the firewall that Proxmox has of a machine.
func firewallOf(s *pvesim.State, id int) (f model.Firewall) {
	file := s.Firewall.Files["vm/"+strconv.Itoa(id)]
	if file == nil {
		return f
	}
	f.Options = file.Options
	for _, r := range file.Rules {
		f.Rules = append(f.Rules, model.FirewallRule{
			Type: r["type"], Action: r["action"], Disabled: r["enable"] == "0", Macro: r["macro"], Protocol: r["proto"],
			Source: r["source"], Dest: r["dest"], DPort: r["dport"],
		})
	}
	return f
}

func firewallText(f model.Firewall) string {
	return fmt.Sprintf("%v %+v", model.FirewallOptions(f.Options), f.Rules)
}
