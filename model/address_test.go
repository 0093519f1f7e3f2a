package model_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/proxplane/proxplane/model"
)

func addressRange(first, last string) model.AddressRange {
	return model.AddressRange{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}
}

func TestExcludedAddressesAreTakenOutOfARange(t *testing.T) {
	all := addressRange("10.0.0.1", "10.0.0.20")
	for _, c := range []struct {
		without []model.AddressRange
		want    string
	}{
		{nil, "[10.0.0.1-10.0.0.20]"},
		{[]model.AddressRange{addressRange("10.0.0.5", "10.0.0.6")}, "[10.0.0.1-10.0.0.4 10.0.0.7-10.0.0.20]"},
		{[]model.AddressRange{addressRange("10.0.0.1", "10.0.0.1"), addressRange("10.0.0.20", "10.0.0.99")}, "[10.0.0.2-10.0.0.19]"},
		{[]model.AddressRange{addressRange("10.0.0.0", "10.0.1.0")}, "[]"},
		{[]model.AddressRange{addressRange("fd00::1", "fd00::ff")}, "[10.0.0.1-10.0.0.20]"},
	} {
		if got := fmt.Sprint(all.Without(c.without)); got != c.want {
			t.Errorf("without %v: %s, want %s", c.without, got, c.want)
		}
	}
}

// Every address of a pool is tried once, whatever its family, and two owners mostly begin elsewhere.
func TestAnOwnerTriesEveryAddressOnce(t *testing.T) {
	pool := model.AddressPool{Name: "lan", Ranges: []model.AddressRange{
		addressRange("10.0.0.250", "10.0.1.5"), addressRange("10.0.9.9", "10.0.9.9"), addressRange("fd00::ffff:ffff:ffff:fffe", "fd00:0:0:1::3"),
	}}
	begin := map[netip.Addr]bool{}
	for i := range 50 {
		o := model.Owner{Door: "vm", Set: "test", Key: model.Key{Kind: "VirtualMachine", Name: fmt.Sprint(i)}}
		for _, f := range []model.Family{model.IPv4, model.IPv6} {
			seen := map[netip.Addr]bool{}
			for a := range pool.Candidates(o, "net0", f) {
				if len(seen) == 0 && f == model.IPv4 {
					begin[a] = true
				}
				if seen[a] || !pool.Contains(a) || model.FamilyOf(a) != f {
					t.Fatalf("%s is tried", a)
				}
				seen[a] = true
			}
			if uint64(len(seen)) != pool.Size(f) {
				t.Fatalf("%d of %d %s addresses are tried", len(seen), pool.Size(f), f)
			}
		}
	}
	if len(begin) < 10 {
		t.Errorf("all begin with one of %v", begin)
	}
}

func TestALargePoolHasAFirstAddress(t *testing.T) {
	pool := model.AddressPool{Ranges: []model.AddressRange{addressRange("fd00::", "fd00::ffff:ffff:ffff:ffff"), addressRange("fd01::", "fd01:ffff::")}}
	for a := range pool.Candidates(model.Owner{}, "net0", model.IPv6) {
		if !pool.Contains(a) {
			t.Errorf("%s isn't in the pool", a)
		}
		return
	}
	t.Error("there is none")
}
