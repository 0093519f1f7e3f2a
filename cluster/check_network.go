package cluster

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/proxplane/proxplane/spec/suggest"
)

// checkNetwork checks addresses, the VIP among them.
func (r *reading) checkNetwork(f *File) {
	p, n := &f.Provider, &f.Provider.Network
	vip, err := netip.ParseAddr(p.VIP)
	switch {
	case p.VIP == "":
		r.fail("provider.vip", "is missing: give a free address of the machines' network, by which the API server is reached")
	case err != nil:
		r.fail("provider.vip", "want an IP address such as 192.168.1.200, have %q", suggest.Shortened(p.VIP))
	case vip.Is4In6():
		r.fail("provider.vip", "want an IPv4 address as such, have %q: write %s", p.VIP, vip.Unmap())
	case vip.IsLoopback() || vip.IsUnspecified() || vip.IsMulticast() || vip.IsLinkLocalUnicast() || vip.Zone() != "":
		r.fail("provider.vip", "%s can't be the address by which machines reach each other", vip)
	}
	var prefix netip.Prefix
	if n.Prefix != "" {
		if prefix, err = netip.ParsePrefix(n.Prefix); err != nil || prefix != prefix.Masked() {
			r.fail("provider.network.prefix", "want a network such as 192.168.1.0/24, have %q", suggest.Shortened(n.Prefix))
			return
		}
	}
	if prefix.IsValid() && vip.IsValid() {
		if !prefix.Contains(vip) {
			r.fail("provider.vip", "%s is outside of %s, the network of the machines", vip, prefix)
		} else if reserved(prefix, vip) {
			r.fail("provider.vip", "%s is no address for machines in %s; give another one", vip, prefix)
		}
	}
	if p.VIP != "" && p.VIP == n.Gateway {
		r.fail("provider.vip", "%s is the gateway; give a free address", p.VIP)
	}
	taken := map[netip.Addr]string{}
	if len(n.Pool) > 0 && !prefix.IsValid() {
		r.fail("provider.network.prefix", "is missing: a pool needs the network that its addresses are in")
	}
	for _, pool := range f.Pools() {
		field := fieldOf(f, pool) + ".addresses"
		if len(pool.Addresses) > 0 && len(pool.Addresses) != *pool.Count {
			r.fail(field, "want one address for each machine, %d in all, have %d", *pool.Count, len(pool.Addresses))
		}
		for i, text := range pool.Addresses {
			a, err := netip.ParsePrefix(text)
			switch {
			case err != nil:
				r.fail(fmt.Sprintf("%s[%d]", field, i), "want an address with its prefix length, such as 192.168.1.11/24, have %q", suggest.Shortened(text))
			case a.Addr() == vip:
				r.fail(fmt.Sprintf("%s[%d]", field, i), "%s is the VIP; machines need addresses of their own", vip)
			case taken[a.Addr()] != "":
				r.fail(fmt.Sprintf("%s[%d]", field, i), "%s is in %s, too; machines need addresses of their own", a.Addr(), taken[a.Addr()])
			case vip.IsValid() && !a.Masked().Contains(vip):
				r.fail("provider.vip", "%s is outside of %s, the network of the machines", vip, a.Masked())
			}
			if err == nil {
				taken[a.Addr()] = fmt.Sprintf("%s[%d]", field, i)
			}
		}
	}
}

// reserved reports whether an address of a network is the network's own, or the one of all.
func reserved(network netip.Prefix, a netip.Addr) bool {
	if !network.Addr().Is4() || network.Bits() > 30 {
		return false
	}
	return a == network.Masked().Addr() || !network.Contains(a.Next())
}

// Networks of pods and services where the file names none.
const (
	defaultPodCIDR     = "10.42.0.0/16"
	defaultServiceCIDR = "10.43.0.0/16"
)

// checkPodNetworks finds networks of pods and services that the machines' own network is part of, and that
// are part of each other.
func (r *reading) checkPodNetworks(f *File) {
	k := &f.Kubernetes
	inConfig := func(key string) string { text, _ := k.Config[key].(string); return text }
	pods := r.podNetworks(f, "kubernetes.podCIDR", cmp.Or(k.PodCIDR, inConfig("cluster-cidr")), defaultPodCIDR)
	for _, s := range r.podNetworks(f, "kubernetes.serviceCIDR", cmp.Or(k.ServiceCIDR, inConfig("service-cidr")), defaultServiceCIDR) {
		for _, p := range pods {
			if p.Overlaps(s) {
				r.fail("kubernetes.serviceCIDR", "%s overlaps %s, the network of pods; give networks that have nothing in common", s, p)
			}
		}
	}
}

// podNetworks are the networks of a field, or its default. Those that overlap the machines' own network are reported: it is where
// the VIP is, and known as a whole only if the file has it.
func (r *reading) podNetworks(f *File, field, text, usual string) (list []netip.Prefix) {
	vip, _ := netip.ParseAddr(f.Provider.VIP) // other checks report these
	machines, _ := netip.ParsePrefix(f.Provider.Network.Prefix)
	for part := range strings.SplitSeq(cmp.Or(text, usual), ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			continue // another check reports it
		}
		list = append(list, p)
		switch {
		case !p.Contains(vip) && machines.IsValid() && p.Overlaps(machines):
			r.fail(field, "%s overlaps %s, the network of the machines; give another network", p, machines)
		case !p.Contains(vip):
		case text == "":
			r.fail(field, "its default %s has the VIP %s in it, and so the machines' own network; give another network", p, vip)
		default:
			r.fail(field, "%s has the VIP %s in it, and so the machines' own network; give another network", p, vip)
		}
	}
	return list
}
