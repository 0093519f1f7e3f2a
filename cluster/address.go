package cluster

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/spec"
)

// address is the fixed address of a machine; nil: it gets one by DHCP.
func (w *wanted) address(pool *Pool, n Node) *spec.StaticIP {
	net := w.file.Provider.Network
	switch {
	case n.Index < len(pool.Addresses):
		s := &spec.StaticIP{Address: pool.Addresses[n.Index], DNS: net.DNS, Search: net.Search}
		if p, err := netip.ParsePrefix(s.Address); err == nil && p.Addr().Is6() {
			s.Gateway6 = net.Gateway
		} else {
			s.Gateway = net.Gateway
		}
		return s
	case len(net.Pool) > 0:
		return &spec.StaticIP{FromPool: network}
	}
	return nil
}

// excluded are the addresses of the pool that no machine gets, the VIP among them.
func excluded(n Network, vip string) []string {
	at, err := netip.ParseAddr(vip)
	in := func(ranges []string) bool {
		return slices.ContainsFunc(ranges, func(text string) bool {
			from, to, isRange := strings.Cut(text, "-")
			if prefix, err := netip.ParsePrefix(text); err == nil {
				return prefix.Contains(at)
			}
			first, err := netip.ParseAddr(strings.TrimSpace(from))
			if !isRange {
				return err == nil && first == at
			}
			last, bad := netip.ParseAddr(strings.TrimSpace(to))
			return err == nil && bad == nil && first.Compare(at) <= 0 && at.Compare(last) <= 0
		})
	}
	if err != nil || !in(n.Pool) || in(n.Exclude) {
		return n.Exclude
	}
	return append(slices.Clone(n.Exclude), at.String())
}
