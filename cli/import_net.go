package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/prop"
)

// networks are the interfaces. Those behind a gap say where they are.
func (w *writer) networks() []*mapping {
	addresses := w.linked || w.static()
	var list []*mapping
	for _, n := range w.g.Config.NICs {
		if !w.says("VirtualMachine", fmt.Sprintf("spec.networks[%d]", len(list)), n.Slot) {
			continue
		}
		at, _ := strconv.Atoi(strings.TrimPrefix(n.Slot, "net"))
		m := (&mapping{}).put("name", n.Slot)
		if at != len(list) {
			m.put("slot", n.Slot)
		}
		m.put("bridge", n.Bridge).put("vlan", n.VLAN).put("mac", strings.ToLower(n.MAC))
		if n.Model != "virtio" {
			m.put("model", n.Model)
		}
		m.put("mtu", n.MTU).put("firewall", n.Firewall)
		m.put("rate", n.Options["rate"])
		if q := n.Options["queues"]; q != "" {
			var queues int
			_, _ = fmt.Sscan(q, &queues)
			m.put("queues", queues)
		}
		m.put("linkDown", n.Options["link_down"] == "1")
		if addresses {
			w.addresses(m, at, len(list) == 0)
		}
		list = append(list, m)
	}
	return list
}

// ipconfig is what the guest is told about an interface at its first boot.
func (w *writer) ipconfig(i int) prop.IPConfig {
	c, err := prop.ParseIPConfig(w.g.Config.Options[fmt.Sprintf("ipconfig%d", i)])
	if err != nil {
		return prop.IPConfig{}
	}
	return c
}

func isAddress(text string) bool { return strings.Contains(text, "/") }

// static tells whether any interface has a fixed address that the guest is told.
func (w *writer) static() bool {
	if !w.hasCloudInit() {
		return false
	}
	for _, n := range w.g.Config.NICs {
		at, _ := strconv.Atoi(strings.TrimPrefix(n.Slot, "net"))
		if _, omitted := w.omit[n.Slot]; omitted {
			continue
		}
		if c := w.ipconfig(at); isAddress(c.IP) || isAddress(c.IP6) {
			return true
		}
	}
	return false
}

// addresses says how the guest gets its addresses; the first interface also says
// which name servers it asks.
func (w *writer) addresses(m *mapping, i int, first bool) {
	c := w.ipconfig(i)
	static := &mapping{}
	switch {
	case isAddress(c.IP):
		static.put("address", c.IP)
		if isAddress(c.IP6) {
			static.put("addresses", []string{c.IP6})
		}
	case isAddress(c.IP6):
		static.put("address", c.IP6)
	}
	static.put("gateway", c.GW).put("gateway6", c.GW6)
	if len(static.node.Content) > 0 && first {
		static.put("dns", strings.Fields(w.take("nameserver"))).put("search", strings.Fields(w.take("searchdomain")))
	}
	m.put("staticIP", static)
	switch {
	case c.IP == "dhcp" && len(static.node.Content) > 0:
		m.put("dhcp", true)
	case c.IP == "" && len(static.node.Content) == 0:
		m.put("dhcp", new(false))
	}
	m.put("dhcp6", c.IP6 == "dhcp").put("slaac", c.IP6 == "auto")
}
