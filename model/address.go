package model

import (
	"encoding/binary"
	"iter"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// AddressPool has the addresses of a network that guests may get.
type AddressPool struct {
	Name string `json:",omitempty"` // of the network
	// Ranges don't overlap, and have no excluded address. A guest keeps its address when they
	// change.
	Ranges   []AddressRange `json:",omitempty"`
	Prefix   netip.Prefix   // of IPv4; zero: it has none
	Prefix6  netip.Prefix
	Gateway  string
	Gateway6 string
}

// Contains reports whether guests may get the address.
func (p AddressPool) Contains(a netip.Addr) bool {
	return slices.ContainsFunc(p.Ranges, func(r AddressRange) bool { return r.Contains(a) })
}

// Overlaps reports whether guests can get an address from both pools.
func (p AddressPool) Overlaps(o AddressPool) bool {
	return slices.ContainsFunc(p.Ranges, func(r AddressRange) bool { return slices.ContainsFunc(o.Ranges, r.Overlaps) })
}

// Families returns the families of the pool: IPv4, IPv6. A guest gets an address of each.
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

// FamilyOf returns the family of an address.
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

// Size returns the number of addresses of a family, or the largest uint64 if there are more.
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

// Candidates yields the addresses of a family in the order in which an owner tries them. The
// order follows from the owner and differs between owners, so that two that choose at once rarely
// choose the same address.
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

// nth returns an address by its number.
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

// With returns an address of the pool with prefix length and gateway.
func (p AddressPool) With(a netip.Addr) Address {
	if a.Is4() {
		return Address{netip.PrefixFrom(a, p.Prefix.Bits()), p.Gateway}
	}
	return Address{netip.PrefixFrom(a, p.Prefix6.Bits()), p.Gateway6}
}

// Reaches reports whether an address is in the network of the pool.
func (p AddressPool) Reaches(a netip.Addr) bool { return p.Prefix.Contains(a) || p.Prefix6.Contains(a) }

const ipconfig = "ipconfig"

// IPConfig returns the fixed addresses that an option of Proxmox gives an interface.
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

// ConfiguredAddresses returns the fixed addresses that options of Proxmox give the interfaces of a
// guest, in the order of the interfaces.
func ConfiguredAddresses(options map[string]string) []netip.Addr {
	var keys []string
	for key := range options {
		if strings.HasPrefix(key, ipconfig) {
			keys = append(keys, key)
		}
	}
	SortNames(keys)
	var list []netip.Addr
	for _, key := range keys {
		for _, a := range IPConfig(options[key]) {
			list = append(list, a.Addr())
		}
	}
	return list
}
