package prop

import (
	"fmt"
	"net/netip"
)

// IPConfig is what cloud-init gives a network card: ipconfig0, ipconfig1 …
type IPConfig struct {
	IP  string // "dhcp", "manual" or address/bits
	GW  string
	IP6 string // "auto", "dhcp", "manual" or address/bits
	GW6 string
	Rest
}

var ipconfigForm = form{name: "ipconfig"}

func (c *IPConfig) fields() []field {
	return []field{
		bind("ip", &c.IP, interfaceAddress(netip.Addr.Is4, "dhcp", "manual")).comparedBy(plainPrefix),
		bind("gw", &c.GW, address(netip.Addr.Is4)).comparedBy(plainAddress),
		bind("ip6", &c.IP6, interfaceAddress(netip.Addr.Is6, "auto", "dhcp", "manual")).comparedBy(plainPrefix),
		bind("gw6", &c.GW6, address(netip.Addr.Is6)).comparedBy(plainAddress),
	}
}

func address(family func(netip.Addr) bool) codec[string] {
	return codec[string]{
		parse: func(s string) (string, error) {
			a, err := netip.ParseAddr(s)
			if err != nil || !family(a) || a.Zone() != "" {
				return "", fmt.Errorf("not an address of this family")
			}
			return s, nil
		},
		print: text.print,
	}
}

func interfaceAddress(family func(netip.Addr) bool, words ...string) codec[string] {
	return codec[string]{
		parse: func(s string) (string, error) {
			for _, w := range words {
				if s == w {
					return s, nil
				}
			}
			// Proxmox wants prefixes of at least 8 bits.
			p, err := netip.ParsePrefix(s)
			if err != nil || !family(p.Addr()) || p.Bits() < 8 {
				return "", fmt.Errorf("neither %v nor an address with its prefix length", words)
			}
			return s, nil
		},
		print: text.print,
	}
}

func plainPrefix(s string) string {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.String()
	}
	return s
}

func plainAddress(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String()
	}
	return s
}

// ParseIPConfig parses the value of an ipconfig key.
func ParseIPConfig(s string) (IPConfig, error) {
	var c IPConfig
	if err := ipconfigForm.read(s, c.fields(), &c.Rest); err != nil {
		return IPConfig{}, err
	}
	if c.GW != "" && c.IP == "" {
		return IPConfig{}, fmt.Errorf("parse ipconfig %q: gw=%s without ip", s, c.GW)
	}
	if c.GW6 != "" && c.IP6 == "" {
		return IPConfig{}, fmt.Errorf("parse ipconfig %q: gw6=%s without ip6", s, c.GW6)
	}
	return c, nil
}

func (c IPConfig) String() string { return ipconfigForm.write(c.fields(), c.Rest) }

// Equal reports whether both configure the same addresses.
func (c IPConfig) Equal(o IPConfig) bool {
	return equal(c.fields(), o.fields(), c.Rest, o.Rest)
}

// Prefixes returns the fixed addresses.
func (c IPConfig) Prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{c.IP, c.IP6} {
		if p, err := netip.ParsePrefix(s); err == nil {
			all = append(all, p)
		}
	}
	return all
}
