package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// AddressRange is a range of addresses of one family, both ends included.
type AddressRange struct{ First, Last netip.Addr }

// Contains reports whether an address is in the range.
func (r AddressRange) Contains(a netip.Addr) bool {
	return a.BitLen() == r.First.BitLen() && r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0
}

// Overlaps reports whether the ranges have an address in common.
func (r AddressRange) Overlaps(o AddressRange) bool {
	return r.Contains(o.First) || o.Contains(r.First)
}

func (r AddressRange) String() string {
	if r.First == r.Last {
		return r.First.String()
	}
	return r.First.String() + "-" + r.Last.String()
}

// Size is how many addresses the range has, or the largest number that there is.
func (r AddressRange) Size() uint64 {
	firstHigh, firstLow := halves(r.First)
	lastHigh, lastLow := halves(r.Last)
	borrow := uint64(0)
	if lastLow < firstLow {
		borrow = 1
	}
	if lastHigh-firstHigh-borrow != 0 || lastLow-firstLow == math.MaxUint64 {
		return math.MaxUint64
	}
	return lastLow - firstLow + 1
}

// at is the address that many after the first.
func (r AddressRange) at(many uint64) netip.Addr {
	high, low := halves(r.First)
	if low+many < low {
		high++
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], high)
	binary.BigEndian.PutUint64(b[8:], low+many)
	a := netip.AddrFrom16(b)
	if r.First.Is4() {
		return a.Unmap()
	}
	return a
}

func halves(a netip.Addr) (high, low uint64) {
	b := a.As16()
	return binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
}

// Without is the range without what is excluded.
func (r AddressRange) Without(excluded []AddressRange) []AddressRange {
	left := []AddressRange{r}
	for _, x := range excluded {
		var next []AddressRange
		for _, l := range left {
			if !l.Overlaps(x) {
				next = append(next, l)
				continue
			}
			if l.First.Less(x.First) {
				next = append(next, AddressRange{l.First, x.First.Prev()})
			}
			if x.Last.Less(l.Last) {
				next = append(next, AddressRange{x.Last.Next(), l.Last})
			}
		}
		left = next
	}
	return left
}

// AddressPool is where guests get addresses from: those of a network.
type AddressPool struct {
	Name string `json:",omitempty"` // of the network
	// Ranges have no address in common, and none that is excluded. A guest keeps its address
	// when they change.
	Ranges   []AddressRange `json:",omitempty"`
	Prefix   netip.Prefix   // of IPv4; zero: it has none
	Prefix6  netip.Prefix
	Gateway  string
	Gateway6 string
}

// Contains reports whether an address is one that guests can get.
func (p AddressPool) Contains(a netip.Addr) bool {
	return slices.ContainsFunc(p.Ranges, func(r AddressRange) bool { return r.Contains(a) })
}

// Families are those of which a guest gets an address: IPv4, IPv6.
func (p AddressPool) Families() []Family {
	var list []Family
	for _, f := range []Family{IPv4, IPv6} {
		if p.Size(f) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// Family is a family of addresses.
type Family string

// The families.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// FamilyOf is the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

func (p AddressPool) of(f Family) []AddressRange {
	var list []AddressRange
	for _, r := range p.Ranges {
		if FamilyOf(r.First) == f {
			list = append(list, r)
		}
	}
	return list
}

// Size is how many addresses of a family there are, or the largest number that there is.
func (p AddressPool) Size(f Family) uint64 {
	total := uint64(0)
	for _, r := range p.of(f) {
		n := r.Size()
		if total+n < total {
			return math.MaxUint64
		}
		total += n
	}
	return total
}

// Candidates are the addresses of a family in the order in which an owner tries them: always the
// same one, and another one than that of most other owners, so that two who choose at once seldom
// choose the same.
func (p AddressPool) Candidates(o Owner, slot string, f Family) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		ranges, size := p.of(f), p.Size(f)
		if size == 0 {
			return
		}
		key := o
		key.Name += "\x00" + p.Name + "\x00" + slot
		sum := key.sum()
		at := binary.BigEndian.Uint64(sum[16:]) % size
		for tried := uint64(0); tried < size; tried++ {
			if !yield(nth(ranges, at)) {
				return
			}
			at = (at + 1) % size
		}
	}
}

// nth is an address by its number.
func nth(ranges []AddressRange, n uint64) netip.Addr {
	for _, r := range ranges {
		size := r.Size()
		if n < size {
			return r.at(n)
		}
		n -= size
	}
	return ranges[len(ranges)-1].Last
}

// Address is an address of an interface.
type Address struct {
	netip.Prefix
	Gateway string
}

// With is an address of the pool as an interface has it.
func (p AddressPool) With(a netip.Addr) Address {
	if a.Is4() {
		return Address{netip.PrefixFrom(a, p.Prefix.Bits()), p.Gateway}
	}
	return Address{netip.PrefixFrom(a, p.Prefix6.Bits()), p.Gateway6}
}

// Reaches reports whether an address is in the network of the pool.
func (p AddressPool) Reaches(a netip.Addr) bool { return p.Prefix.Contains(a) || p.Prefix6.Contains(a) }

// Lease is that an interface gets its addresses from a pool: one of each family that the pool has.
// The guest keeps them for as long as it is there.
type Lease struct {
	Slot string // "net0"
	Pool AddressPool
	// Beside is what the interface gets of a family that the pool doesn't have, as an option of
	// Proxmox says it: "ip6=auto".
	Beside string `json:",omitempty"`
	// Has are the addresses that the guest has, or is to get; none: they aren't chosen yet.
	Has []Address `json:"-"`
}

// Lacking are the families of which an address isn't chosen yet.
func (l Lease) Lacking() []Family {
	return slices.DeleteFunc(l.Pool.Families(), func(f Family) bool {
		return slices.ContainsFunc(l.Has, func(a Address) bool { return FamilyOf(a.Addr()) == f })
	})
}

// Option is the option that has the addresses of the interface.
func (l Lease) Option() string { return ipconfig + strings.TrimPrefix(l.Slot, "net") }

// value is what that option says, in canonical spelling.
func (l Lease) value() string {
	var parts []string
	for _, a := range l.Has {
		end := ""
		if a.Addr().Is6() {
			end = "6"
		}
		parts = append(parts, "ip"+end+"="+a.String())
		if a.Gateway != "" {
			parts = append(parts, "gw"+end+"="+a.Gateway)
		}
	}
	if l.Beside != "" {
		parts = append(parts, l.Beside)
	}
	key := func(part string) string { name, _, _ := strings.Cut(part, "="); return name }
	slices.SortFunc(parts, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return strings.Join(parts, ",")
}

// Leased is the guest with the addresses that its interfaces have from pools.
func (v VM) Leased(leases []Lease) VM {
	v.Leases = leases
	options := make(map[string]string, len(v.Options)+len(leases))
	for k, value := range v.Options {
		options[k] = value
	}
	var all []string
	for _, l := range leases {
		options[l.Option()] = l.value()
		all = append(all, l.Slot+" "+l.value())
	}
	v.Options = options
	if v.Seed == nil {
		return v
	}
	seed := *v.Seed
	seed.Leased = hexDigest(strings.Join(all, "\n"))
	if seed.Recipe != nil {
		recipe := *seed.Recipe
		recipe.NICs = slices.Clone(recipe.NICs)
		for _, l := range leases {
			for i, n := range v.NICs {
				if n.Slot == l.Slot && i < len(recipe.NICs) {
					recipe.NICs[i] = l.guest(recipe.NICs[i])
				}
			}
		}
		seed.Recipe = &recipe
	}
	v.Seed = &seed
	return v
}

// guest is an interface as the guest is to configure it.
func (l Lease) guest(n GuestNIC) GuestNIC {
	n.Addresses = nil
	for _, a := range l.Has {
		n.Addresses = append(n.Addresses, a.String())
		if a.Addr().Is4() {
			n.Gateway = a.Gateway
		} else {
			n.Gateway6 = a.Gateway
		}
	}
	return n
}

// unleased is the guest without the addresses that it got from pools, and those that others may get:
// what is wanted is that it has some.
func (v VM) unleased() VM {
	if len(v.Leases) == 0 {
		return v
	}
	options := make(map[string]string, len(v.Options))
	for k, value := range v.Options {
		if !slices.ContainsFunc(v.Leases, func(l Lease) bool { return l.Option() == k }) {
			options[k] = value
		}
	}
	v.Options, v.Leases = options, slices.Clone(v.Leases)
	for i := range v.Leases {
		v.Leases[i].Pool.Name, v.Leases[i].Pool.Ranges = "", nil
	}
	return v
}

// Claims are the addresses that the guest has from pools, by slot, as its marker has them.
func (v VM) Claims() map[string][]string {
	var claims map[string][]string
	for _, l := range v.Leases {
		for _, a := range l.Has {
			if claims == nil {
				claims = map[string][]string{}
			}
			claims[l.Slot] = append(claims[l.Slot], a.Addr().String())
		}
	}
	return claims
}

// hexDigest is a short digest, as names of files with first-boot data have them.
func hexDigest(text string) string {
	const enough = 4
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:enough])
}

const ipconfig = "ipconfig"

// IPConfig are the fixed addresses that an option of Proxmox gives an interface.
func IPConfig(value string) []Address {
	var list []Address
	fields := map[string]string{}
	for part := range strings.SplitSeq(value, ",") {
		key, text, _ := strings.Cut(part, "=")
		fields[key] = text
	}
	for _, end := range []string{"", "6"} {
		if p, err := netip.ParsePrefix(fields["ip"+end]); err == nil {
			list = append(list, Address{p, fields["gw"+end]})
		}
	}
	return list
}

// ConfiguredAddresses are the fixed addresses that options of Proxmox give the interfaces of a
// guest, in the order of the interfaces.
func ConfiguredAddresses(options map[string]string) []netip.Addr {
	var list []netip.Addr
	for _, key := range NamesOf(options) {
		if strings.HasPrefix(key, ipconfig) {
			for _, a := range IPConfig(options[key]) {
				list = append(list, a.Addr())
			}
		}
	}
	return list
}

// Holding is that a guest has an address, or claims it.
type Holding struct {
	Address netip.Addr
	VMID    int
	Name    string
	Node    string
	// Claimed says that the guest is to get it and doesn't have it yet.
	Claimed bool
	// Reported says that only the guest's agent says so.
	Reported bool
	Slot     string // of a claim, or of one from a pool; empty: not from a pool
}

// Holdings are the addresses of a guest: those that its config has, those that its marker claims and
// those that its agent reports. A clone that isn't configured yet has the addresses of its source in
// its config, which it will never use. Templates use none.
func (g *Guest) Holdings() []Holding {
	if g.Template {
		return nil
	}
	var list []Holding
	add := func(h Holding) {
		h.VMID, h.Name, h.Node = g.VMID, g.Name, g.Node
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

func (h Holding) String() string { return fmt.Sprintf("VM %d (%s)", h.VMID, h.Name) }
