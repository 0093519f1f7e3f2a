package karpenter

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/spec"
)

// network is an interface of a template. Where it has addresses, these are a pool of the cluster, without those that are taken and those of its gateways.
func network(i int, n api.Network, taken []string, cluster *spec.Cluster) spec.Network {
	name := n.Name
	if name == "" {
		name = "net" + strconv.Itoa(i)
	}
	out := spec.Network{Name: name, Slot: name, Bridge: n.Bridge, Model: n.Model, Firewall: n.Firewall}
	if n.MTU != nil && (n.Model == "" || n.Model == "virtio") {
		out.MTU = *n.MTU
	}
	if n.VLAN != nil {
		out.VLAN = *n.VLAN
	}
	pool := spec.Pool{Gateway: n.Gateway4, Gateway6: n.Gateway6, DNS: n.DNSServers}
	for _, a := range []struct {
		text   string
		prefix *string
	}{{n.Address4, &pool.Prefix}, {n.Address6, &pool.Prefix6}} {
		if r, prefix, ok := addresses(a.text); ok {
			pool.Ranges, *a.prefix = append(pool.Ranges, r), prefix
			pool.Exclude = append(pool.Exclude, among(r, append([]string{n.Gateway4, n.Gateway6}, taken...))...)
		}
	}
	no, yes := false, true
	switch {
	case len(pool.Ranges) > 0:
		known := spec.ClusterNetwork{Bridge: n.Bridge, VLAN: out.VLAN, MTU: out.MTU, Firewall: n.Firewall, Pool: &pool}
		if cluster.Networks = maps.Clone(cluster.Networks); cluster.Networks == nil {
			cluster.Networks = spec.Networks{}
		}
		cluster.Networks[name] = known
		out.StaticIP = &spec.StaticIP{FromPool: name}
		out.DHCP = &no
		if n.Address4 == "dhcp" {
			out.DHCP = &yes
		}
	case n.Address4 == "" && n.Address6 != "":
		out.DHCP = &no
	}
	out.DHCP6, out.SLAAC = n.Address6 == "dhcp", n.Address6 == "auto"
	return out
}

// addresses are those that a prefix such as 10.1.0.0/24, or a range such as 10.1.0.10-10.1.0.99/24, stands for; ok: it is
// one.
func addresses(text string) (ranges, prefix string, ok bool) {
	first, rest, isRange := strings.Cut(text, "-")
	if isRange {
		last, bits, _ := strings.Cut(rest, "/")
		p, err := netip.ParsePrefix(first + "/" + bits)
		if err != nil {
			return "", "", false
		}
		return first + "-" + last, p.Masked().String(), true
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return "", "", false
	}
	from := p.Addr()
	if from == p.Masked().Addr() {
		from = from.Next()
	}
	return fmt.Sprintf("%s-%s", from, lastOf(p)), p.Masked().String(), true
}

// mostAddresses is how many addresses of a prefix are used: there are no more machines on a network.
const mostAddresses = 1 << 14

// lastOf is the last address of a prefix that a machine can have.
func lastOf(p netip.Prefix) netip.Addr {
	a := p.Masked().Addr()
	for range mostAddresses {
		next := a.Next()
		if !next.IsValid() || !p.Contains(next) || a.Is4() && !p.Contains(next.Next()) {
			break
		}
		a = next
	}
	return a
}

// wrongNetwork says what is wrong with the addresses of an interface; empty: nothing.
func wrongNetwork(i int, n api.Network) string {
	for _, a := range []struct {
		field, text string
		words       []string
		is4         bool
	}{{"address4", n.Address4, []string{"dhcp"}, true}, {"address6", n.Address6, []string{"dhcp", "auto"}, false}} {
		if a.text == "" || a.text == a.words[0] || a.text == a.words[len(a.words)-1] {
			continue
		}
		_, prefix, ok := addresses(a.text)
		if p, err := netip.ParsePrefix(prefix); !ok || err != nil || p.Addr().Is4() != a.is4 {
			return fmt.Sprintf("spec.network[%d].%s: want %s, or addresses such as 10.1.0.10-10.1.0.99/24, have %q", i, a.field, strings.Join(a.words, ", "), a.text)
		}
	}
	return ""
}
