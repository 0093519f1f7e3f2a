package pvesim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// networkRoutes are the network interfaces of a node. Changes wait in the
// list, not active, until they are applied.
func networkRoutes() map[string]handler {
	return map[string]handler{
		"GET /nodes/{node}/network":            listNetwork,
		"POST /nodes/{node}/network":           createInterface,
		"PUT /nodes/{node}/network":            applyNetwork,
		"DELETE /nodes/{node}/network":         revertNetwork,
		"GET /nodes/{node}/network/{iface}":    getInterface,
		"PUT /nodes/{node}/network/{iface}":    updateInterface,
		"DELETE /nodes/{node}/network/{iface}": deleteInterface,
	}
}

// firstInterface is the priority of the first interface after loopback.
const firstInterface = 3

// entry is the interface as it is listed.
func (b *Bridge) entry(pos int) map[string]any {
	m := map[string]any{
		"iface": b.Name, "type": b.Type, "priority": firstInterface + pos, "families": []string{"inet"},
		"autostart": 1, "method": "manual", "method6": "manual",
	}
	if b.Type == "bridge" {
		m["bridge_ports"], m["bridge_stp"], m["bridge_fd"] = "", "off", "0"
	}
	if addr, bits, ok := strings.Cut(b.CIDR, "/"); ok {
		m["method"], m["address"], m["netmask"], m["cidr"] = "static", addr, bits, b.CIDR
	}
	for k, v := range b.Opts {
		m[k] = v
		if n, err := strconv.Atoi(v); err == nil && (k == "autostart" || k == "bridge_vlan_aware") {
			m[k] = n
		}
	}
	if !b.New {
		m["active"] = 1
	}
	return m
}

func (c *call) mayUseBridge(b *Bridge) bool {
	if b.Type != "bridge" && b.Type != "OVSBridge" || c.who.root() {
		return true
	}
	path := "/sdn/zones/localnetwork/" + b.Name
	return c.has(c.who, path, "SDN.Audit") || c.has(c.who, path, "SDN.Use")
}

func listNetwork(c *call) (any, error) {
	want := c.params.Str("type")
	list := []map[string]any{}
	for i, b := range c.state.Nodes[c.node()].Bridges {
		isBridge := b.Type == "bridge" || b.Type == "OVSBridge"
		match := want == "" || want == "include_sdn" || want == b.Type ||
			isBridge && (want == "any_bridge" || want == "any_local_bridge")
		if match && c.mayUseBridge(b) {
			list = append(list, b.entry(i))
		}
	}
	return list, nil
}

// iface finds the interface that the path names.
func (c *call) iface() (*Bridge, int, error) {
	list := c.state.Nodes[c.node()].Bridges
	i := slices.IndexFunc(list, func(b *Bridge) bool { return b.Name == c.params.Str("iface") })
	if i < 0 {
		return nil, 0, badParam("iface", "interface does not exist")
	}
	return list[i], i, nil
}

func getInterface(c *call) (any, error) {
	b, i, err := c.iface()
	if err != nil {
		return nil, err
	}
	m := b.entry(i)
	delete(m, "iface")
	return m, nil
}

// options are what the parameters say of an interface.
func (c *call) interfaceOptions() (cidr string, opts map[string]string) {
	opts = c.section("node", "iface", "type", "cidr", "address", "netmask")
	cidr = c.params.Str("cidr")
	if cidr == "" && c.params.Has("address") {
		cidr = c.params.Str("address") + "/" + c.params.Str("netmask")
	}
	return cidr, opts
}

func createInterface(c *call) (any, error) {
	n := c.state.Nodes[c.node()]
	name := c.params.Str("iface")
	if slices.ContainsFunc(n.Bridges, func(b *Bridge) bool { return b.Name == name }) {
		return nil, badParam("iface", "interface already exists")
	}
	b := &Bridge{Name: name, Type: c.params.Str("type"), New: true}
	b.CIDR, b.Opts = c.interfaceOptions()
	n.Bridges = append(n.Bridges, b)
	return nil, nil
}

func updateInterface(c *call) (any, error) {
	b, _, err := c.iface()
	if err != nil {
		return nil, err
	}
	cidr, opts := c.interfaceOptions()
	for _, k := range c.params.List("delete") {
		delete(b.Opts, k)
		if k == "cidr" || k == "address" {
			b.CIDR = ""
		}
	}
	b.Type = c.params.Str("type")
	if cidr != "" {
		b.CIDR = cidr
	}
	if b.Opts == nil {
		b.Opts = map[string]string{}
	}
	maps.Copy(b.Opts, opts)
	return nil, nil
}

func deleteInterface(c *call) (any, error) {
	_, i, err := c.iface()
	if err != nil {
		return nil, err
	}
	n := c.state.Nodes[c.node()]
	n.Bridges = slices.Delete(n.Bridges, i, i+1)
	return nil, nil
}

// applyNetwork makes what was changed active.
func applyNetwork(c *call) (any, error) {
	node := c.node()
	return c.fork(node, "srvreload", "networking", c.who, func(t *task) error {
		for _, b := range t.state.Nodes[node].Bridges {
			b.New = false
		}
		return nil
	}), nil
}

// revertNetwork drops the interfaces that weren't applied.
func revertNetwork(c *call) (any, error) {
	n := c.state.Nodes[c.node()]
	n.Bridges = slices.DeleteFunc(n.Bridges, func(b *Bridge) bool { return b.New })
	return nil, nil
}
