package pvesim

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// firstInterface is the priority of the first interface after loopback.
const firstInterface = 3

// interfaces are those of the newest config.
func (n *Node) interfaces() []*Bridge {
	if n.NewBridges != nil {
		return n.NewBridges
	}
	return n.Bridges
}

// unusedNIC is a network card that no more is said of.
func unusedNIC(name string) *Bridge {
	return &Bridge{Name: name, Type: "eth", Opts: map[string]string{"families": "inet"}}
}

// findInterface gives an interface and its place.
func findInterface(list []*Bridge, name string) (*Bridge, int) {
	i := slices.IndexFunc(list, func(b *Bridge) bool { return b.Name == name })
	if i < 0 {
		return nil, -1
	}
	return list[i], i
}

func isBridge(typ string) bool { return typ == "bridge" || typ == "OVSBridge" }

// entry is the interface as it is read back.
func (n *Node) interfaceEntry(b *Bridge, pos int) map[string]any {
	m := map[string]any{"type": b.Type, "priority": firstInterface + pos, "method": "manual", "method6": "manual"}
	for k, v := range b.Opts {
		if v != "" && v != "0" || k == "bridge_fd" {
			m[k] = v
		}
	}
	if comment := b.Opts["comments"]; comment != "" {
		m["comments"] = strings.TrimRight(comment, "\n") + "\n"
	}
	delete(m, "autostart")
	if b.Opts["autostart"] == "1" {
		m["autostart"] = 1
	}
	switch b.Type {
	case "eth":
		if slices.Contains(n.NICs, b.Name) {
			m["exists"] = 1
		}
	case "bond": // written into the file even when nobody says them
		for k, v := range map[string]string{"bond_mode": "balance-rr", "bond_miimon": "100"} {
			if b.Opts[k] == "" {
				m[k] = v
			}
		}
	case "bridge":
		b.bridgeEntry(m)
	case "vlan":
		m["exists"] = nil
		if dev, id, ok := strings.Cut(b.Name, "."); ok {
			m["vlan-raw-device"], m["vlan-id"] = dev, id
		}
	}
	m["families"] = slices.Sorted(slices.Values(strings.Fields(b.Opts["families"])))
	for _, suffix := range addressFamilies {
		if addr := b.Opts["address"+suffix]; addr != "" {
			m["cidr"+suffix] = addr + "/" + b.Opts["netmask"+suffix]
		}
	}
	if n.up(b.Name) {
		m["active"] = 1
	}
	return m
}

// up reports whether an interface is active: network cards are if something
// stands on them or starts them.
func (n *Node) up(name string) bool {
	have, _ := findInterface(n.Bridges, name)
	if have == nil || have.Type != "eth" || have.Opts["autostart"] == "1" {
		return have != nil
	}
	return slices.ContainsFunc(n.Bridges, func(b *Bridge) bool {
		ports, _ := portsOf(b.Opts)
		return slices.Contains(ports, name)
	})
}

func (b *Bridge) bridgeEntry(m map[string]any) {
	ports := slices.Compact(slices.Sorted(slices.Values(schema.SplitList(b.Opts["bridge_ports"]))))
	m["bridge_ports"], m["bridge_stp"] = strings.Join(ports, " "), "off"
	if stp := b.Opts["bridge_stp"]; stp != "" {
		m["bridge_stp"] = stp
	}
	if _, ok := m["bridge_fd"]; !ok && m["bridge_stp"] == "off" {
		m["bridge_fd"] = "0"
	}
	delete(m, "bridge_vlan_aware")
	delete(m, "bridge_vids")
	if _, ok := b.Opts["bridge_vlan_aware"]; ok {
		m["bridge_vlan_aware"], m["bridge_vids"] = 1, "2-4094"
		if vids := schema.SplitList(b.Opts["bridge_vids"]); len(vids) > 0 {
			m["bridge_vids"] = strings.Join(vids, " ")
		}
	}
}

// maySeeBridge: bridges are shown to those who may use them or one of their
// VLANs.
func (c *call) maySeeBridge(b *Bridge) bool {
	return !isBridge(b.Type) || c.who.Root() || c.needBridge(c.who, "localnetwork", b.Name, "SDN.Audit", "SDN.Use") == nil
}
