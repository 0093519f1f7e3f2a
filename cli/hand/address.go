package hand

import (
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/model"
)

// staticAddresses are those that a machine has by its cloud-init settings or by
// its manifest.
func staticAddresses(c *target.Site, g *model.Guest) []netip.Addr {
	found := model.ConfiguredAddresses(g.Config.Options)
	for _, vm := range c.Desired.VMs {
		if vm.Name != g.Name {
			continue
		}
		found = append(found, model.ConfiguredAddresses(vm.Options)...)
		if vm.Seed != nil {
			found = append(found, seedAddresses(vm.Seed.Files["network-config"])...)
		}
	}
	return found
}

// seedAddresses are those of a network config of cloud-init, version 2.
func seedAddresses(text []byte) []netip.Addr {
	var config struct {
		Ethernets map[string]struct {
			Addresses []string `yaml:"addresses"`
		} `yaml:"ethernets"`
	}
	if yaml.Unmarshal(text, &config) != nil {
		return nil
	}
	var found []netip.Addr
	for _, name := range model.NamesOf(config.Ethernets) {
		for _, a := range config.Ethernets[name].Addresses {
			if p, err := netip.ParsePrefix(a); err == nil {
				found = append(found, p.Addr())
			}
		}
	}
	return found
}
