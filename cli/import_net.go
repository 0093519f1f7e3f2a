package cli

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/pve/prop"
)

// networks are the interfaces, as long as their slots have no gap: manifests
// count them.
func (w *writer) networks() []*mapping {
	c := w.g.Config
	addresses := w.linked || w.static()
	var list []*mapping
	for i := 0; ; i++ {
		n, ok := c.NICAt(fmt.Sprintf("net%d", i))
		if !ok {
			return list
		}
		m := (&mapping{}).put("name", n.Slot).put("bridge", n.Bridge).put("vlan", n.VLAN).put("mac", strings.ToLower(n.MAC))
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
			w.addresses(m, i)
		}
		list = append(list, m)
	}
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

// static tells whether any interface has a fixed address.
func (w *writer) static() bool {
	for i := range w.g.Config.NICs {
		if c := w.ipconfig(i); isAddress(c.IP) || isAddress(c.IP6) {
			return true
		}
	}
	return false
}

// addresses says how the guest gets its addresses.
func (w *writer) addresses(m *mapping, i int) {
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
	if len(static.node.Content) > 0 && i == 0 {
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
