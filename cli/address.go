package cli

import (
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/model"
)

// hasAgent tells whether a machine's config has a guest agent.
func hasAgent(g *model.Guest) bool {
	agent := g.Config.Options["agent"]
	return agent != "" && !strings.HasPrefix(agent, "0") && !strings.Contains(agent, "enabled=0")
}

// staticAddresses are those that a machine has by its cloud-init settings or by
// its manifest.
func (c *cluster) staticAddresses(g *model.Guest) []netip.Addr {
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
	var keys []string
	for key := range options {
		if strings.HasPrefix(key, "ipconfig") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var found []netip.Addr
	for _, key := range keys {
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
	var names []string
	for name := range config.Ethernets {
		names = append(names, name)
	}
	slices.Sort(names)
	var found []netip.Addr
	for _, name := range names {
		for _, a := range config.Ethernets[name].Addresses {
			if p, err := netip.ParsePrefix(a); err == nil {
				found = append(found, p.Addr())
			}
		}
	}
	return found
}
