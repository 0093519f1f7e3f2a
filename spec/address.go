package spec

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

// addresses reads what addresses an interface has.
func (b *build) addresses(field string, n Network, out *nic) {
	out.dhcp6, out.slaac = n.DHCP6, n.SLAAC
	if n.DHCP6 && n.SLAAC {
		b.fail(field+".slaac", "is another way to get an address than dhcp6; choose one")
	}
	if n.StaticIP != nil {
		b.static(field+".staticIP", *n.StaticIP, out)
	}
	out.dhcp = n.StaticIP == nil
	if n.DHCP != nil {
		out.dhcp = *n.DHCP
	}
	if n.DHCP != nil && *n.DHCP && out.has(model.IPv4) {
		b.fail(field+".dhcp", "makes no sense beside the static address%s", first(out.v4))
	}
	if (n.DHCP6 || n.SLAAC) && out.has(model.IPv6) {
		b.fail(field, "dhcp6 and slaac make no sense beside the static address%s", first(out.v6))
	}
}

// first is the first of some addresses, for a sentence.
func first(list []netip.Prefix) string {
	if len(list) == 0 {
		return " from the pool"
	}
	return " " + list[0].String()
}

func (b *build) static(field string, ip StaticIP, out *nic) {
	if ip.FromPool != "" {
		b.fromPool(field, ip, out)
		return
	}
	type given struct{ field, text string }
	var all []given
	if ip.Address != "" {
		all = append(all, given{field + ".address", ip.Address})
	}
	for i, a := range ip.Addresses {
		all = append(all, given{fmt.Sprintf("%s.addresses[%d]", field, i), a})
	}
	if len(all) == 0 {
		b.fail(field+".address", "is missing")
	}
	for _, a := range all {
		p, ok := b.prefix(a.field, a.text)
		switch {
		case !ok:
		case slices.Contains(out.v4, p) || slices.Contains(out.v6, p):
			b.fail(a.field, "%s is there twice", p)
		case p.Addr().Is4():
			out.v4 = append(out.v4, p)
		default:
			out.v6 = append(out.v6, p)
		}
	}
	b.gateways(field, ip, out)
	b.names(field, ip, out)
}

// names reads the name servers and search domains.
func (b *build) names(field string, ip StaticIP, out *nic) {
	for i, d := range ip.DNS {
		if a, err := netip.ParseAddr(d); err != nil {
			b.fail(fmt.Sprintf("%s.dns[%d]", field, i), "want the address of a name server, have %q", suggest.Shortened(d))
		} else {
			out.dns = append(out.dns, a.String())
		}
	}
	for i, d := range ip.Search {
		if !guestName.MatchString(d) {
			b.fail(fmt.Sprintf("%s.search[%d]", field, i), "want a domain, have %q", suggest.Shortened(d))
		}
	}
	out.search = ip.Search
}

func (b *build) prefix(field, text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	if err == nil && !p.Addr().Is4In6() && p.Bits() >= 8 { // Proxmox takes no shorter ones
		return p, true
	}
	if a, bad := netip.ParseAddr(text); bad == nil {
		bits := 24
		if a.Is6() {
			bits = 64
		}
		b.fail(field, "has no prefix length; did you mean %s/%d?", a, bits)
		return p, false
	}
	b.fail(field, "want an address with its prefix length, such as 192.168.1.100/24, have %q", suggest.Shortened(text))
	return p, false
}

func (b *build) gateways(field string, ip StaticIP, out *nic) {
	take := func(field, text string, want6 bool) {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil || a.Zone() != "":
			b.fail(field, "want an address such as 192.168.1.1, have %q", suggest.Shortened(text))
		case want6 && a.Is4():
			b.fail(field, "want an IPv6 address, have %s; gateway is for IPv4", a)
		case a.Is4() && len(out.v4) == 0, a.Is6() && len(out.v6) == 0:
			b.fail(field, "the interface has no address of the same kind as %s", a)
		case a.Is4():
			out.gateway = a.String()
		case out.gateway6 != "":
			b.fail(field, "there are two gateways for IPv6")
		default:
			out.gateway6 = a.String()
		}
	}
	if ip.Gateway != "" {
		take(field+".gateway", ip.Gateway, false)
	}
	if ip.Gateway6 != "" {
		take(field+".gateway6", ip.Gateway6, true)
	}
}

// simple reports whether Proxmox' own options can say what addresses the interface
// has: one of each kind.
func (n *nic) simple() bool { return len(n.v4) <= 1 && len(n.v6) <= 1 }

// ipconfig is the value of the option for an interface.
func (n *nic) ipconfig() string {
	var c prop.IPConfig
	switch {
	case len(n.v4) > 0:
		c.IP, c.GW = n.v4[0].String(), n.gateway
	case n.dhcp:
		c.IP = "dhcp"
	}
	switch {
	case len(n.v6) > 0:
		c.IP6, c.GW6 = n.v6[0].String(), n.gateway6
	case n.dhcp6:
		c.IP6 = "dhcp"
	case n.slaac:
		c.IP6 = "auto"
	}
	return c.String()
}

// ipOptions are the options that say it for all interfaces.
func ipOptions(nics []nic, o options) {
	var dns, search []string
	for _, n := range nics {
		if n.pool == nil {
			o.set("ipconfig"+strings.TrimPrefix(n.Slot, "net"), n.ipconfig())
		}
		dns = append(dns, n.dns...)
		search = append(search, n.search...)
	}
	if len(dns) > 0 {
		o.set("nameserver", strings.Join(distinct(dns), " "))
	}
	if len(search) > 0 {
		o.set("searchdomain", strings.Join(distinct(search), " "))
	}
}

// distinct keeps the first of each.
func distinct(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
