package pvesim

import (
	"strconv"

	"github.com/proxplane/proxplane/pve/schema"
)

const maxNets = 32

// parseNet reads a network card. One without a MAC address gets one.
func (s *Sim) parseNet(vmid int, key, value string) (*schema.Props, bool) {
	props, err := s.option("net0").ParseProps(key, value)
	if err != nil {
		return nil, false
	}
	if !props.Has("macaddr") {
		props.Set("macaddr", s.mac(strconv.Itoa(vmid), key))
	}
	return props, true
}

func (s *Sim) printNet(props *schema.Props) string { return s.option("net0").PrintProps(props) }

// parseIPConfig reads what cloud-init is told about a network card. What
// doesn't go together counts as nothing at all.
func (s *Sim) parseIPConfig(value string) *schema.Props {
	props, err := s.option("ipconfig0").ParseProps("", value)
	switch {
	case err != nil,
		props.Has("gw") && (!props.Has("ip") || props.Get("ip") == "dhcp"),
		props.Has("gw6") && (!props.Has("ip6") || props.Get("ip6") == "dhcp" || props.Get("ip6") == "auto"):
		return &schema.Props{}
	case !props.Has("ip") && !props.Has("ip6"):
		return schema.NewProps("ip", "dhcp", "ip6", "dhcp")
	}
	return props
}

// differ reports whether two property strings differ in one of the keys.
// Numbers are compared as such: 1.50 is 1.5.
func differ(a, b *schema.Props, keys ...string) bool {
	for _, k := range keys {
		if a.Has(k) != b.Has(k) {
			return true
		}
		if a.Get(k) == b.Get(k) {
			continue
		}
		x, errX := strconv.ParseFloat(a.Get(k), 64)
		y, errY := strconv.ParseFloat(b.Get(k), 64)
		if errX != nil || errY != nil || x != y {
			return true
		}
	}
	return false
}
