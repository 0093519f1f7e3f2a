package plan

import (
	"net/netip"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// lanPool is a pool with three addresses.
func lanPool() model.AddressPool {
	return model.AddressPool{
		Name: "lan", Prefix: netip.MustParsePrefix("192.168.1.0/24"), Gateway: "192.168.1.1",
		Ranges: []model.AddressRange{{First: netip.MustParseAddr("192.168.1.100"), Last: netip.MustParseAddr("192.168.1.102")}},
	}
}

// A machine that can't be made keeps no address from others.
func TestAMachineThatNoNodeCanTakeHasNoAddress(t *testing.T) {
	w := newWorld()
	pool := lanPool()
	pool.Ranges[0].Last = pool.Ranges[0].First // just one
	big, small := testVM("big"), testVM("small")
	big.Options["cores"] = "4096"
	for _, v := range []*model.VM{&big, &small} {
		v.Leases = []model.Lease{{Slot: "net0", Pool: pool}}
	}
	p := converge(t, w, desired(big, small))
	for _, o := range p.Objects {
		switch {
		case o.Owner.Name == "big" && o.Wait == nil:
			t.Errorf("a machine that no node can take doesn't wait:\n%s", p)
		case o.Owner.Name == "small" && !o.Ready():
			t.Errorf("the address is kept for a machine that can't be made:\n%s", p)
		}
	}
}
