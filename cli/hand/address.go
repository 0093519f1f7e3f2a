package hand

import (
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/model"
)

// staticAddresses are those that a machine has by its cloud-init settings or by
// its manifest.
func staticAddresses(c *target.Site, g *model.Guest) []netip.Addr {
	found := configAddresses(g.Config.Options)
	for _, vm := range c.Desired.VMs {
		if vm.Name != g.Name {
			continue
		}
		found = append(found, configAddresses(vm.Options)...)
		if vm.Seed != nil {
			found = append(found, seedAddresses(vm.Seed.Files["network-config"])...)
		}
	}
	return found
}

// configAddresses are those of Proxmox' cloud-init options.
func configAddresses(options map[string]string) []netip.Addr {
	var found []netip.Addr
	for _, key := range model.NamesOf(options) {
		if !strings.HasPrefix(key, "ipconfig") {
			continue
		}
		for pair := range strings.SplitSeq(options[key], ",") {
			if name, value, _ := strings.Cut(pair, "="); name == "ip" || name == "ip6" {
				if p, err := netip.ParsePrefix(value); err == nil {
					found = append(found, p.Addr())
				}
			}
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
