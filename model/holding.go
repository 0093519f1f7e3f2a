package model

import (
	"fmt"
	"net/netip"
	"slices"
)

// Holding is an address that a guest has or claims.
type Holding struct {
	Address   netip.Addr
	VMID      int
	Name      string
	Node      string
	Container bool
	// Claimed says that the guest has claimed the address and doesn't have it yet.
	Claimed bool
	// Reported says that only the guest's agent reports the address.
	Reported bool
	// Kept is the owner of a guest that is being replaced and gets the address again.
	Kept Owner
	Slot string // the slot, of a claim or of an address from a pool; empty: not from a pool
}

// Holdings returns the addresses of a guest: those in its config, those that its marker claims and
// those that its agent reports. A clone that isn't configured yet has the addresses of its source in
// its config, which it will never use. Templates use none.
func (g *Guest) Holdings() []Holding {
	if g.Template {
		return nil
	}
	var list []Holding
	add := func(h Holding) {
		h.VMID, h.Name, h.Node, h.Container = g.VMID, g.Name, g.Node, g.Container
		if !slices.ContainsFunc(list, func(o Holding) bool { return o.Address == h.Address }) {
			list = append(list, h)
		}
	}
	m := g.Marker()
	slotOf := func(a netip.Addr) string {
		if m == nil {
			return ""
		}
		for _, slot := range NamesOf(m.Addresses) {
			if slices.Contains(m.Addresses[slot], a.String()) {
				return slot
			}
		}
		return ""
	}
	if g.Config != nil && (m == nil || !m.Fresh) {
		for _, a := range ConfiguredAddresses(g.Config.Options) {
			add(Holding{Address: a, Slot: slotOf(a)})
		}
	}
	if m != nil {
		for _, slot := range NamesOf(m.Addresses) {
			for _, text := range m.Addresses[slot] {
				if a, err := netip.ParseAddr(text); err == nil {
					add(Holding{Address: a, Claimed: true, Slot: slot})
				}
			}
		}
	}
	for _, p := range g.Addresses {
		add(Holding{Address: p.Addr().WithZone(""), Reported: true})
	}
	return list
}

// AddressesKnown reports whether the config with the guest's addresses was read. The config of a
// container is read for nothing else.
func (g *Guest) AddressesKnown() bool {
	return g.Config != nil && (!g.Container || g.Config.Options != nil)
}

// Leased returns the addresses from pools that the guest has or claims; nil: its config isn't known.
func (g *Guest) Leased() []netip.Addr {
	if g.Config == nil {
		return nil
	}
	list := []netip.Addr{}
	for _, h := range g.Holdings() {
		if h.Slot != "" {
			list = append(list, h.Address)
		}
	}
	return list
}

func (h Holding) String() string {
	if h.VMID == 0 {
		return h.Name + ", which is being made anew"
	}
	if h.Container {
		return fmt.Sprintf("container %d (%s)", h.VMID, h.Name)
	}
	return fmt.Sprintf("VM %d (%s)", h.VMID, h.Name)
}
