package observe

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// addressesOf returns the addresses under which a guest can be reached from
// outside: those of interfaces that are its network cards, or are built on
// them. Where none is recognised by its MAC address, names decide.
func addressesOf(list []pve.GuestInterface, nics []model.NIC) []netip.Prefix {
	var own, other []netip.Prefix
	for _, n := range nics {
		for _, i := range list {
			if strings.EqualFold(i.MAC, n.MAC) && !inner(i.Name) {
				own = append(own, reachable(i)...)
			}
		}
	}
	for _, i := range list {
		if !inner(i.Name) {
			other = append(other, reachable(i)...)
		}
	}
	if len(own) > 0 {
		other = own
	}
	slices.SortStableFunc(other, func(a, b netip.Prefix) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	var out []netip.Prefix
	for _, p := range other {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// innerNames begin the names of interfaces that lead nowhere but to the guest
// itself and to its containers.
var innerNames = []string{
	"lo", "docker", "br-", "veth", "cni", "cali", "flannel", "cilium", "lxc", "lxd", "virbr", "vnet", "kube-", "nodelocaldns",
	"tunl", "vxlan", "weave", "antrea", "ovn", "ovs", "genev", "ip6tnl", "sit", "dummy", "podman", "Loopback",
}

func inner(name string) bool {
	return slices.ContainsFunc(innerNames, func(p string) bool {
		rest, ok := strings.CutPrefix(name, p)
		// "lo" and "lo:1" are meant, "lom1" isn't.
		return ok && (p != "lo" || rest == "" || strings.Trim(rest, "0123456789:") == "")
	})
}

func reachable(i pve.GuestInterface) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range i.Addresses {
		// Windows adds the zone.
		text, _, _ := strings.Cut(a.Address, "%")
		addr, err := netip.ParseAddr(text)
		if err != nil || !addr.IsGlobalUnicast() {
			continue
		}
		addr = addr.Unmap()
		bits := a.Prefix
		if bits <= 0 || bits > addr.BitLen() {
			bits = addr.BitLen()
		}
		out = append(out, netip.PrefixFrom(addr, bits))
	}
	return out
}
