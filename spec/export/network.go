package export

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec"
)

// networks are the interfaces. Those behind a gap say where they are.
func (w *writer) interfaces() []spec.Network {
	addresses := w.linked || w.static()
	var list []spec.Network
	for _, n := range w.g.Config.NICs {
		if !w.says(fmt.Sprintf("networks[%d]", len(list)), n.Slot) {
			continue
		}
		at, _ := strconv.Atoi(strings.TrimPrefix(n.Slot, "net"))
		to := spec.Network{
			Name: n.Slot, Bridge: n.Bridge, VLAN: n.VLAN, MAC: strings.ToLower(n.MAC), MTU: n.MTU, Firewall: ifTrue(n.Firewall), Rate: n.Options["rate"], LinkDown: n.Options["link_down"] == "1",
		}
		if f := w.to.Firewall; f != nil && f.Enabled == nil && !n.Firewall {
			to.Firewall = new(false)
		}
		if at != len(list) {
			to.Slot = n.Slot
		}
		if n.Model != "virtio" {
			to.Model = n.Model
		}
		if q := n.Options["queues"]; q != "" {
			_, _ = fmt.Sscan(q, &to.Queues)
		}
		if addresses {
			w.addresses(&to, at, len(list) == 0)
		}
		list = append(list, to)
	}
	return list
}

// ipconfig is the cloud-init configuration of an interface.
func (w *writer) ipconfig(i int) prop.IPConfig {
	c, err := prop.ParseIPConfig(w.g.Config.Options[fmt.Sprintf("ipconfig%d", i)])
	if err != nil {
		return prop.IPConfig{}
	}
	return c
}

func isAddress(text string) bool { return strings.Contains(text, "/") }

// static reports whether any interface has a fixed address in its cloud-init
// configuration.
func (w *writer) static() bool {
	if !w.hasCloudInit() {
		return false
	}
	for _, n := range w.g.Config.NICs {
		at, _ := strconv.Atoi(strings.TrimPrefix(n.Slot, "net"))
		if _, omitted := w.omit[n.Slot]; omitted {
			continue
		}
		if c := w.ipconfig(at); isAddress(c.IP) || isAddress(c.IP6) {
			return true
		}
	}
	return false
}

// addresses says how the guest gets its addresses; the first interface also says
// which name servers it asks.
func (w *writer) addresses(to *spec.Network, i int, first bool) {
	c := w.ipconfig(i)
	static := spec.StaticIP{Gateway: c.GW, Gateway6: c.GW6}
	pool := w.pool(to.Name, c)
	switch {
	case pool != "":
		static = spec.StaticIP{FromPool: pool}
	case isAddress(c.IP):
		static.Address = c.IP
		if isAddress(c.IP6) {
			static.Addresses = []string{c.IP6}
		}
	case isAddress(c.IP6):
		static.Address = c.IP6
	}
	fixed := static.FromPool+static.Address+static.Gateway+static.Gateway6 != ""
	if fixed && first {
		static.DNS, static.Search = w.names(pool)
	}
	if fixed {
		to.StaticIP = &static
	}
	switch {
	case c.IP == "dhcp" && fixed:
		to.DHCP = new(true)
	case c.IP == "" && !fixed:
		to.DHCP = new(false)
	}
	to.DHCP6, to.SLAAC = c.IP6 == "dhcp", c.IP6 == "auto"
}

// pool is the network whose pool an interface has an address of; empty: none. One that the machine got from
// a pool stays the pool's, also where the pool gives it to nobody else any more.
func (w *writer) pool(slot string, c prop.IPConfig) string {
	for _, text := range []string{c.IP, c.IP6} {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		m := w.g.Marker()
		leased := m != nil && slices.Contains(m.Addresses[slot], p.Addr().String())
		for _, pool := range w.networks.Pools() {
			if pool.Contains(p.Addr()) || leased && pool.Reaches(p.Addr()) {
				return pool.Name
			}
		}
	}
	return ""
}

// names are the name servers and search domains of a guest, where they aren't those of a pool.
func (w *writer) names(pool string) (dns, search []string) {
	dns, search = strings.Fields(w.take("nameserver")), strings.Fields(w.take("searchdomain"))
	if p := w.networks[pool].Pool; p != nil {
		if slices.Equal(dns, p.DNS) {
			dns = nil
		}
		if slices.Equal(search, p.Search) {
			search = nil
		}
	}
	return dns, search
}
