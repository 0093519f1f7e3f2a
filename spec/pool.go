package spec

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Pool has addresses of a network for machines with [StaticIP.FromPool].
type Pool struct {
	Ranges   []string // first-last, or one address
	Exclude  []string // the same
	Prefix   string   // the network of IPv4: 192.168.1.0/24
	Prefix6  string
	Gateway  string
	Gateway6 string
	DNS      []string
	Search   []string
}

// fieldRange is a range with the field that says it.
type fieldRange struct {
	field string
	model.AddressRange
}

// checkPools checks the pools of a cluster, and that no address is in two of them.
func (r *report) checkPools(c *Cluster) {
	var all []fieldRange
	for _, name := range slices.Sorted(maps.Keys(c.Networks)) {
		pool := c.Networks[name].Pool
		if pool == nil {
			continue
		}
		field := "networks." + name + ".pool"
		_, ranges := r.pool(field, name, *pool)
		for _, one := range ranges {
			for _, other := range all {
				if one.Overlaps(other.AddressRange) {
					r.fail(one.field, "%s has addresses in common with %s of %s; each address belongs into one range of one pool", one.AddressRange, other.AddressRange, inCluster(other.field))
					break
				}
			}
			all = append(all, one)
		}
	}
}

// pool reads a pool.
func (r *report) pool(field, name string, p Pool) (model.AddressPool, []fieldRange) {
	out := model.AddressPool{Name: name, Prefix: r.poolPrefix(field+".prefix", p.Prefix, model.IPv4), Prefix6: r.poolPrefix(field+".prefix6", p.Prefix6, model.IPv6)}
	ranges, exclude := r.ranges(field+".ranges", p.Ranges), r.ranges(field+".exclude", p.Exclude)
	if len(p.Ranges) == 0 {
		r.fail(field+".ranges", "is missing: give the addresses for machines, such as 192.168.1.100-192.168.1.199")
	}
	var without []model.AddressRange
	for _, x := range exclude {
		without = append(without, x.AddressRange)
	}
	if routers := anycast(out.Prefix6); routers.IsValid() {
		without = append(without, model.AddressRange{First: routers, Last: routers})
	}
	for _, one := range ranges {
		r.inPrefix(one, out)
		out.Ranges = append(out.Ranges, one.Without(without)...)
	}
	for _, x := range exclude {
		if len(ranges) == len(p.Ranges) && !slices.ContainsFunc(ranges, func(one fieldRange) bool { return one.Overlaps(x.AddressRange) }) {
			r.fail(x.field, "%s is in no range of the pool, so that no machine gets it anyway; leave it out, or correct it", x.AddressRange)
		}
	}
	if len(exclude) > 0 && len(ranges) > 0 && len(out.Ranges) == 0 {
		r.fail(field+".exclude", "leaves no address of the pool")
	}
	if len(ranges) == len(p.Ranges) && len(ranges) > 0 {
		r.noRange(field+".prefix", out.Prefix, ranges)
		r.noRange(field+".prefix6", out.Prefix6, ranges)
	}
	out.Gateway = r.poolGateway(field+".gateway", p.Gateway, out, out.Prefix)
	out.Gateway6 = r.poolGateway(field+".gateway6", p.Gateway6, out, out.Prefix6)
	for i, d := range p.DNS {
		if _, err := netip.ParseAddr(d); err != nil {
			r.fail(fmt.Sprintf("%s.dns[%d]", field, i), "want the address of a name server, have %q", suggest.Shortened(d))
		}
	}
	for i, d := range p.Search {
		if !guestName.MatchString(d) {
			r.fail(fmt.Sprintf("%s.search[%d]", field, i), "want a domain, have %q", suggest.Shortened(d))
		}
	}
	return out, ranges
}

func (r *report) poolPrefix(field, text string, family model.Family) netip.Prefix {
	if text == "" {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || p.Addr().Is4In6() || model.FamilyOf(p.Addr()) != family || p.Bits() < 8:
		example := "192.168.1.0/24"
		if family == model.IPv6 {
			example = "fd00:1::/64"
		}
		r.fail(field, "want the %s network of the pool, such as %s, have %q", family, example, suggest.Shortened(text))
		return netip.Prefix{}
	case p.Masked() != p:
		r.fail(field, "%s is an address in a network; did you mean %s?", p, p.Masked())
	case !assignable(p):
		r.fail(field, "machines can't have addresses of %s, a network for other purposes; give another one", p)
	}
	return p.Masked()
}

// ranges reads ranges of addresses.
func (r *report) ranges(field string, texts []string) []fieldRange {
	var list []fieldRange
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", field, i)
		from, to, several := strings.Cut(text, "-")
		first, err := netip.ParseAddr(strings.TrimSpace(from))
		last := first
		if several && err == nil {
			last, err = netip.ParseAddr(strings.TrimSpace(to))
		}
		switch {
		case err != nil || first.Zone()+last.Zone() != "" || first.Is4In6() || last.Is4In6():
			r.fail(at, "want a range such as 192.168.1.100-192.168.1.199, or one address, have %q", suggest.Shortened(text))
		case first.BitLen() != last.BitLen():
			r.fail(at, "%s and %s are of different families", first, last)
		case last.Less(first):
			r.fail(at, "ends before it begins; did you mean %s-%s?", last, first)
		default:
			list = append(list, fieldRange{at, model.AddressRange{First: first, Last: last}})
		}
	}
	return list
}

// inPrefix checks that machines can have the addresses of a range.
func (r *report) inPrefix(one fieldRange, pool model.AddressPool) {
	prefix, field := pool.Prefix, "prefix"
	if one.First.Is6() {
		prefix, field = pool.Prefix6, "prefix6"
	}
	switch {
	case !prefix.IsValid():
		r.fail(one.field, "%s needs the network that it is in: set %s of the pool", one.AddressRange, field)
	case !prefix.Contains(one.First) || !prefix.Contains(one.Last):
		r.fail(one.field, "%s isn't inside of %s, the %s of the pool: give addresses of that network, or correct the %s", one.AddressRange, prefix, field, field)
	case one.First.Is4() && prefix.Bits() < 31 && (one.First == prefix.Addr() || !prefix.Contains(one.Last.Next())):
		r.fail(one.field, "%s has the first or the last address of %s, which no machine can have; leave them out", one.AddressRange, prefix)
	case one.Last == anycast(prefix):
		r.fail(one.field, "%s is the first address of %s, which belongs to its routers; give another one", one.AddressRange, prefix)
	}
}

// anycast is the address of all routers of an IPv6 network, its first one (RFC 4291, 2.6.1), which no machine gets. A
// network of a point-to-point link has none (RFC 6164).
func anycast(p netip.Prefix) netip.Addr {
	if p.IsValid() && p.Addr().Is6() && p.Bits() < 127 {
		return p.Addr()
	}
	return netip.Addr{}
}

// noRange refuses a network of which no machine gets an address.
func (r *report) noRange(field string, prefix netip.Prefix, ranges []fieldRange) {
	if prefix.IsValid() && !slices.ContainsFunc(ranges, func(one fieldRange) bool { return one.First.BitLen() == prefix.Addr().BitLen() }) {
		r.fail(field, "no range is in %s, so that no machine gets an address of it; add one to ranges, or leave the network out", prefix)
	}
}

// assignable reports whether machines can have addresses of a network, as far as its kind tells.
func assignable(p netip.Prefix) bool {
	a := p.Addr()
	return !a.IsLoopback() && !a.IsMulticast() && !(a.Is6() && a.IsLinkLocalUnicast()) && !(a.Is4() && a.As4()[0] == 0)
}

// poolGateway checks a gateway of a pool.
func (r *report) poolGateway(field, text string, pool model.AddressPool, prefix netip.Prefix) string {
	if text == "" {
		return ""
	}
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || a.Zone() != "":
		r.fail(field, "want an address such as 192.168.1.1, have %q", suggest.Shortened(text))
		return ""
	case !prefix.IsValid():
		r.fail(field, "%s needs the network that it is in; set the prefix of the pool, too", a)
	case !prefix.Contains(a) && !a.IsLinkLocalUnicast():
		r.fail(field, "%s isn't inside of %s, the network of the pool: give an address of that network, or correct the prefix", a, prefix)
	case pool.Contains(a):
		r.fail(field, "%s is one of the addresses for machines; add it to exclude, or begin the range after it", a)
	case a.Is4() && prefix.Bits() < 31 && prefix.Contains(a) && (a == prefix.Addr() || !prefix.Contains(a.Next())):
		r.fail(field, "%s is the first or the last address of %s, which no router can have", a, prefix)
	}
	return a.String()
}

// fromPool has an interface get its addresses from a pool.
func (b *build) fromPool(field string, ip StaticIP, out *nic) {
	if ip.Address != "" || len(ip.Addresses) > 0 || ip.Gateway != "" || ip.Gateway6 != "" {
		b.fail(field+".fromPool", "is instead of addresses and gateways, which come from the pool; leave one of them out")
	}
	network, ok := b.cluster.Networks[ip.FromPool]
	if !ok || network.Pool == nil {
		b.fail(field+".fromPool", "network %q has no pool%s; give it one in %s of the %s", suggest.Shortened(ip.FromPool), b.cluster.poolNames(), inCluster("networks"), TheCluster)
		return
	}
	pool := network.Pool.pool(ip.FromPool)
	out.pool, out.gateway, out.gateway6 = &pool, pool.Gateway, pool.Gateway6
	if len(ip.DNS) == 0 {
		ip.DNS = network.Pool.DNS
	}
	if len(ip.Search) == 0 {
		ip.Search = network.Pool.Search
	}
	b.names(field, ip, out)
}

// poolNames says which networks have pools.
func (c *Cluster) poolNames() string {
	var names []string
	for _, p := range c.Networks.Pools() {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return " (those with one: " + strings.Join(names, ", ") + ")"
}

// leasesOf are the interfaces that get addresses from pools.
func leasesOf(nics []nic) []model.Lease {
	var list []model.Lease
	for _, n := range nics {
		if n.pool != nil {
			list = append(list, model.Lease{Slot: n.Slot, Pool: *n.pool, Beside: n.ipconfig()})
		}
	}
	return list
}

// sampled is a recipe with addresses in place of those from pools: with them the first-boot data can
// be checked, and told from others whatever the guest gets.
func sampled(r firstboot.Recipe, nics []nic) firstboot.Recipe {
	r.NICs = slices.Clone(r.NICs)
	for i, n := range nics {
		if n.pool == nil {
			continue
		}
		for _, f := range n.pool.Families() {
			if f == model.IPv4 {
				r.NICs[i].Addresses = append(r.NICs[i].Addresses, netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), n.pool.Prefix.Bits()).String())
				r.NICs[i].Gateway = n.pool.Gateway
			} else {
				r.NICs[i].Addresses = append(r.NICs[i].Addresses, netip.PrefixFrom(netip.MustParseAddr("2001:db8::1"), n.pool.Prefix6.Bits()).String())
				r.NICs[i].Gateway6 = n.pool.Gateway6
			}
		}
	}
	return r
}

// checkPooled: no machine has an address of its own that another one could get from a pool.
func (t *Translation) checkPooled() (errs Errors) {
	for _, r := range t.results {
		if r.VM.Deleted {
			continue
		}
		for _, n := range r.nics {
			for _, a := range slices.Concat(n.v4, n.v6) {
				if name := r.cluster.pooled(a.Addr()); name != "" {
					errs = append(errs, r.wrong(n.field+".staticIP", "%s is in the pool of network %s: exclude it there, or take one of the pool with %s", a.Addr(), name, called("fromPool")))
				}
			}
		}
	}
	return errs
}

// pooled is the network whose pool has an address; empty: none.
func (c *Cluster) pooled(a netip.Addr) string {
	for _, p := range c.Networks.Pools() {
		if p.Contains(a) {
			return p.Name
		}
	}
	return ""
}

// Pools returns the pools of addresses, by the names of their networks. [Cluster.Check] reports their
// errors.
func (n Networks) Pools() []model.AddressPool {
	var list []model.AddressPool
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if p := n[name].Pool; p != nil {
			list = append(list, p.pool(name))
		}
	}
	return list
}

func (p Pool) pool(name string) model.AddressPool {
	var reported report // by Check
	pool, _ := reported.pool("", name, p)
	return pool
}
