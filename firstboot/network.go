package firstboot

import (
	"fmt"
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v3"
)

// networkConfig is version 2 of cloud-init's network configuration: interfaces
// are found by their MAC, since their names depend on the machine type. They are
// called eth0 and so on, as Proxmox' own drive has it: where cloud-init doesn't
// write for netplan, it looks for them by name.
func networkConfig(nics []NIC) ([]byte, error) {
	type route struct {
		To  string `yaml:"to"`
		Via string `yaml:"via"`
	}
	type names struct {
		Addresses []string `yaml:"addresses,omitempty"`
		Search    []string `yaml:"search,omitempty"`
	}
	type ethernet struct {
		Match       map[string]string `yaml:"match"`
		SetName     string            `yaml:"set-name"`
		DHCP4       bool              `yaml:"dhcp4,omitempty"`
		DHCP6       bool              `yaml:"dhcp6,omitempty"`
		AcceptRA    bool              `yaml:"accept-ra,omitempty"`
		Addresses   []string          `yaml:"addresses,omitempty"`
		Routes      []route           `yaml:"routes,omitempty"`
		Nameservers *names            `yaml:"nameservers,omitempty"`
		MTU         int               `yaml:"mtu,omitempty"`
	}
	out := struct {
		Version   int                 `yaml:"version"`
		Ethernets map[string]ethernet `yaml:"ethernets"`
	}{2, map[string]ethernet{}}
	for i, n := range nics {
		name := fmt.Sprintf("eth%d", i)
		e := ethernet{Match: map[string]string{"macaddress": strings.ToLower(n.MAC)}, SetName: name, DHCP4: n.DHCP4 || len(n.Addresses) == 0 && !n.Manual, DHCP6: n.DHCP6, AcceptRA: n.SLAAC, MTU: n.MTU}
		for _, a := range n.Addresses {
			if _, err := netip.ParsePrefix(a); err != nil {
				return nil, fmt.Errorf("address %q of interface %d: want one like 192.168.1.5/24", a, i)
			}
			e.Addresses = append(e.Addresses, a)
		}
		if n.Gateway != "" {
			e.Routes = append(e.Routes, route{"0.0.0.0/0", n.Gateway})
		}
		if n.Gateway6 != "" {
			e.Routes = append(e.Routes, route{"::/0", n.Gateway6})
		}
		if len(n.DNS)+len(n.Search) > 0 {
			e.Nameservers = &names{n.DNS, n.Search}
		}
		out.Ethernets[name] = e
	}
	return yaml.Marshal(out)
}
