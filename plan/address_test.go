package plan

import (
	"net/netip"

	"github.com/proxplane/proxplane/model"
)

// lanPool is a pool with three addresses.
func lanPool() model.AddressPool {
	return model.AddressPool{
		Name: "lan", Prefix: netip.MustParsePrefix("192.168.1.0/24"), Gateway: "192.168.1.1",
		Ranges: []model.AddressRange{{First: netip.MustParseAddr("192.168.1.100"), Last: netip.MustParseAddr("192.168.1.102")}},
	}
}
