package pvesim

import (
	"net/netip"
	"strings"
)

// GuestNetwork returns the network that guests get addresses of when they ask for one;
// not valid: they get none.
func (s *Sim) GuestNetwork() netip.Prefix {
	first, _, _ := strings.Cut(s.world.DHCP.Range, "-")
	addr, err := netip.ParseAddr(first)
	if err != nil {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, s.world.DHCP.Bits).Masked()
}
