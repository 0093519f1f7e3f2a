package pvesim

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// networkRoutes are the network interfaces of a node. Changes are written to
// a new config file, which all calls show, and which is applied or thrown
// away as a whole.
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

func listNetwork(c *call) (any, error) {
	want, n := c.params.Str("type"), c.state.Nodes[c.node()]
	list := []map[string]any{}
	for i, b := range n.interfaces() {
		match := want == "" || want == "include_sdn" || want == b.Type ||
			isBridge(b.Type) && (want == "any_bridge" || want == "any_local_bridge")
		if match && c.maySeeBridge(b) {
			m := n.interfaceEntry(b, i)
			m["iface"] = b.Name
			list = append(list, m)
		}
	}
	return list, nil
}

func getInterface(c *call) (any, error) {
	n := c.state.Nodes[c.node()]
	b, i := findInterface(n.interfaces(), c.params.Str("iface"))
	if b == nil {
		return nil, badParam("iface", "interface does not exist")
	}
	return n.interfaceEntry(b, i), nil
}

// editNetwork changes a copy of the newest config, and keeps it if it is
// sound.
func (c *call) editNetwork(change func(list []*Bridge) ([]*Bridge, error)) (any, error) {
	n := c.state.Nodes[c.node()]
	list := []*Bridge{}
	for _, b := range n.interfaces() {
		list = append(list, &Bridge{Name: b.Name, Type: b.Type, Opts: maps.Clone(b.Opts)})
	}
	list, err := change(list)
	if err != nil {
		return nil, err
	}
	if err := checkNetwork(list); err != nil {
		return nil, err
	}
	n.NewBridges = list
	return nil, nil
}

func createInterface(c *call) (any, error) {
	return c.editNetwork(func(list []*Bridge) ([]*Bridge, error) {
		name, typ := c.params.Str("iface"), c.params.Str("type")
		if b, _ := findInterface(list, name); b != nil {
			return nil, badParam("iface", "interface already exists")
		}
		opts, err := c.interfaceOptions(list, name)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(typ, "OVS") {
			return nil, die("Open VSwitch is not installed (need package 'openvswitch-switch')")
		}
		return append(list, &Bridge{Name: name, Type: typ, Opts: opts}), nil
	})
}

func updateInterface(c *call) (any, error) {
	return c.editNetwork(func(list []*Bridge) ([]*Bridge, error) {
		name := c.params.Str("iface")
		b, _ := findInterface(list, name)
		if b == nil {
			return nil, badParam("iface", "interface does not exist")
		}
		for _, k := range c.params.List("delete") {
			delete(b.Opts, k)
			if suffix, ok := strings.CutPrefix(k, "cidr"); ok {
				delete(b.Opts, "address"+suffix)
				delete(b.Opts, "netmask"+suffix)
			}
		}
		opts, err := c.interfaceOptions(list, name)
		if err != nil {
			return nil, err
		}
		b.Type = c.params.Str("type")
		if b.Opts == nil {
			b.Opts = map[string]string{}
		}
		maps.Copy(b.Opts, opts)
		// What belongs to a family that isn't named again isn't written.
		for family, suffix := range addressFamilies {
			if !slices.Contains(strings.Fields(opts["families"]), family) {
				for _, k := range []string{"address", "netmask", "gateway"} {
					delete(b.Opts, k+suffix)
				}
			}
		}
		return list, nil
	})
}

// addressFamilies are the kinds of addresses with the end of the names of
// their options.
var addressFamilies = map[string]string{"inet": "", "inet6": "6"}

// interfaceOptions are what the parameters say of an interface, checked
// against the others.
func (c *call) interfaceOptions(list []*Bridge, name string) (map[string]string, error) {
	opts := c.section("node", "iface", "type")
	for _, key := range []string{"gateway", "gateway6"} {
		for _, other := range list {
			if opts[key] != "" && other.Name != name && other.Opts[key] != "" {
				label := map[string]string{"gateway": "Default gateway", "gateway6": "Default ipv6 gateway"}[key]
				return nil, badParam(key, "%s already exists on interface '%s'.", label, other.Name)
			}
		}
	}
	if err := checkPorts(list, name, opts); err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "6"} {
		if cidr := opts["cidr"+suffix]; cidr != "" {
			for _, key := range []string{"address", "netmask"} {
				if opts[key+suffix] != "" {
					return nil, badParam(key+suffix, "%s%s conflicts with cidr%s", key, suffix, suffix)
				}
			}
			opts["address"+suffix], opts["netmask"+suffix], _ = strings.Cut(cidr, "/")
			delete(opts, "cidr"+suffix)
		}
	}
	if mask, err := netip.ParseAddr(opts["netmask"]); err == nil {
		opts["netmask"] = itoa(maskBits(mask))
	}
	for family, suffix := range addressFamilies {
		opts["method"+suffix] = "manual"
		if opts["address"+suffix] != "" {
			opts["method"+suffix], opts["families"] = "static", strings.TrimSpace(opts["families"]+" "+family)
		}
	}
	if opts["families"] == "" {
		opts["families"] = "inet"
	}
	if c.params.Has("bridge_vids") && len(schema.SplitList(opts["bridge_vids"])) == 0 {
		return nil, badParam("bridge_vids", "VLAN list items are empty")
	}
	return opts, nil
}

func maskBits(mask netip.Addr) int {
	bits := 0
	for _, b := range mask.AsSlice() {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	return bits
}

func deleteInterface(c *call) (any, error) {
	return c.editNetwork(func(list []*Bridge) ([]*Bridge, error) {
		name := c.params.Str("iface")
		_, i := findInterface(list, name)
		if i < 0 {
			return nil, badParam("iface", "interface does not exist")
		}
		list = slices.Delete(list, i, i+1)
		if slices.Contains(c.state.Nodes[c.node()].NICs, name) {
			list = append(list, unusedNIC(name)) // the card itself stays
		}
		return list, nil
	})
}

// applyNetwork makes what was changed active.
func applyNetwork(c *call) (any, error) {
	node := c.node()
	return c.fork(node, "srvreload", "networking", c.who, func(t *task) error {
		if n := t.state.Nodes[node]; n.NewBridges != nil {
			n.Bridges, n.NewBridges = n.NewBridges, nil
		}
		return nil
	}), nil
}

// revertNetwork throws the changes away.
func revertNetwork(c *call) (any, error) {
	c.state.Nodes[c.node()].NewBridges = nil
	return nil, nil
}
