package guestos

import (
	"net"
	"net/netip"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Seed is what cloud-init finds when the system inside boots, beyond what
// Proxmox itself writes from ciuser, ipconfigN and so on.
type Seed struct{ User, Meta, Network string }

// hostName is the name that the seed gives the system; "" if it gives none.
func (s Seed) hostName() string {
	var user struct {
		Hostname string `json:"hostname"`
		FQDN     string `json:"fqdn"`
	}
	if strings.HasPrefix(s.User, "#cloud-config") && yaml.Unmarshal([]byte(s.User), &user) == nil {
		for _, name := range []string{user.Hostname, user.FQDN} {
			if host, _, _ := strings.Cut(name, "."); host != "" {
				return host
			}
		}
	}
	var meta struct {
		LocalHostname string `json:"local-hostname"`
		Hostname      string `json:"hostname"`
	}
	if yaml.Unmarshal([]byte(s.Meta), &meta) != nil {
		return ""
	}
	name := meta.LocalHostname
	if name == "" {
		name = meta.Hostname
	}
	host, _, _ := strings.Cut(name, ".")
	return host
}

// netConfig is cloud-init's network configuration, version 1 or 2.
type netConfig struct {
	Network   *netConfig            `json:"network"`
	Config    []netDevice           `json:"config"`
	Ethernets map[string]netplanNIC `json:"ethernets"`
}

type netDevice struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	MAC     string `json:"mac_address"`
	Subnets []struct {
		Type    string `json:"type"`
		Address string `json:"address"`
		Netmask string `json:"netmask"`
	} `json:"subnets"`
}

type netplanNIC struct {
	Match struct {
		MAC  string `json:"macaddress"`
		Name string `json:"name"`
	} `json:"match"`
	DHCP4     any   `json:"dhcp4"`
	Addresses []any `json:"addresses"`
}

// cardPlan is what a network card is told: addresses, or "dhcp".
type cardPlan struct {
	name, mac string
	addrs     []string
}

// cards reads the network configuration; false: there is none.
func (s Seed) cards() ([]cardPlan, bool) {
	var cfg netConfig
	if strings.TrimSpace(s.Network) == "" || yaml.Unmarshal([]byte(s.Network), &cfg) != nil {
		return nil, false
	}
	if cfg.Network != nil {
		cfg = *cfg.Network
	}
	var list []cardPlan
	for _, dev := range cfg.Config {
		if dev.Type != "physical" {
			continue
		}
		plan := cardPlan{name: dev.Name, mac: strings.ToLower(dev.MAC)}
		for _, sub := range dev.Subnets {
			switch {
			case sub.Type == "dhcp" || sub.Type == "dhcp4":
				plan.addrs = append(plan.addrs, "dhcp")
			case sub.Address != "":
				plan.addrs = append(plan.addrs, withMask(sub.Address, sub.Netmask))
			}
		}
		list = append(list, plan)
	}
	for key, nic := range cfg.Ethernets {
		plan := cardPlan{name: key, mac: strings.ToLower(nic.Match.MAC)}
		if nic.Match.Name != "" {
			plan.name = nic.Match.Name
		}
		if on, ok := nic.DHCP4.(bool); ok && on || nic.DHCP4 == "yes" || nic.DHCP4 == "true" {
			plan.addrs = append(plan.addrs, "dhcp")
		}
		for _, a := range nic.Addresses {
			switch a := a.(type) {
			case string:
				plan.addrs = append(plan.addrs, a)
			case map[string]any: // an address with options
				for text := range a {
					plan.addrs = append(plan.addrs, text)
				}
			}
		}
		list = append(list, plan)
	}
	return list, true
}

// withMask makes a prefix of an address and a netmask in four numbers.
func withMask(addr, mask string) string {
	if strings.Contains(addr, "/") || mask == "" {
		return addr
	}
	ip := net.ParseIP(mask).To4()
	if ip == nil {
		return addr
	}
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return addr
	}
	bits, _ := net.IPMask(ip).Size()
	return netip.PrefixFrom(a, bits).String()
}

// NIC is a network card of a machine that boots.
type NIC struct {
	Slot string // net0
	MAC  string
	Name string // eth0, as the system inside calls it
}

// Apply sets up a guest that boots as its seed says.
func (g *Guest) Apply(s Seed, cards []NIC) {
	switch name := s.hostName(); {
	case name != "":
		g.Name = name
	case s.User != "": // only Proxmox' own user data names the host
		g.Name = "localhost"
	}
	g.Files["/etc/hostname"] = []byte(g.Name + "\n")
	g.writeFiles(s)
	plans, ok := s.cards()
	if !ok {
		return
	}
	g.Net = map[string][]string{}
	for _, card := range cards {
		for _, p := range plans {
			if p.mac == card.MAC || p.mac == "" && (p.name == card.Slot || p.name == card.Name) {
				g.Net[card.MAC] = append(g.Net[card.MAC], p.addrs...)
			}
		}
	}
}

// writeFiles writes the files that a cloud-config has, as plain text.
func (g *Guest) writeFiles(s Seed) {
	var user struct {
		Files []struct {
			Path     string `json:"path"`
			Content  string `json:"content"`
			Encoding string `json:"encoding"`
		} `json:"write_files"`
	}
	if !strings.HasPrefix(s.User, "#cloud-config") || yaml.Unmarshal([]byte(s.User), &user) != nil {
		return
	}
	for _, f := range user.Files {
		if f.Encoding == "" && strings.HasPrefix(f.Path, "/") {
			g.makeDirs(path.Dir(f.Path))
			g.Files[path.Clean(f.Path)] = []byte(f.Content)
		}
	}
}
