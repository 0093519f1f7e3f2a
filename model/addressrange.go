package model

import (
	"encoding/binary"
	"math"
	"net/netip"
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

// Size returns the number of addresses in the range, or the largest uint64 if there are more.
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

// at returns the address that many after the first.
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

// Without returns the range without excluded addresses.
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
