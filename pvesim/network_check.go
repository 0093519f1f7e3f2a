package pvesim

import (
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// portKeys are the options that name ports of an interface.
var portKeys = []string{"bridge_ports", "ovs_ports", "slaves", "ovs_bonds"}

func portsOf(opts map[string]string) (ports []string, key string) {
	for _, k := range portKeys {
		if opts[k] != "" {
			ports = append(ports, schema.SplitList(opts[k])...)
			if key == "" {
				key = k
			}
		}
	}
	return ports, key
}

// checkPorts refuses ports that another interface has.
func checkPorts(list []*Bridge, name string, opts map[string]string) error {
	ports, key := portsOf(opts)
	for _, other := range list {
		theirs, _ := portsOf(other.Opts)
		for _, p := range ports {
			if other.Name != name && slices.Contains(theirs, p) {
				return badParam(key, "%s is already used on interface '%s'.", p, other.Name)
			}
		}
	}
	return nil
}

var vlanName = regexp.MustCompile(`^vlan(\d+)$`)

// checkNetwork refuses a config whose interfaces don't fit together.
func checkNetwork(list []*Bridge) error {
	for _, b := range list {
		switch b.Type {
		case "bond":
			for _, p := range strings.Fields(b.Opts["slaves"]) {
				if other, _ := findInterface(list, p); other == nil {
					return die("bond '%s' - unable to find slave '%s'", b.Name, p)
				} else if other.Type != "eth" && other.Type != "bond" {
					return die("bond '%s' - wrong interface type on slave '%s' ('%s' != 'eth or bond')", b.Name, p, other.Type)
				}
			}
		case "vlan":
			if err := checkVLAN(list, b); err != nil {
				return err
			}
		case "bridge":
			for _, p := range strings.Fields(b.Opts["bridge_ports"]) {
				other, _ := findInterface(list, p)
				if parent, _, ok := strings.Cut(p, "."); ok && other == nil {
					other, _ = findInterface(list, parent)
				}
				switch {
				case other == nil:
					return die("bridge '%s' - unable to find bridge port '%s'", b.Name, p)
				case other.Name == p && (other.Opts["address"] != "" || other.Opts["address6"] != ""):
					return die("iface %s - ip address can't be set on interface if bridged in %s", p, b.Name)
				}
			}
		}
	}
	return nil
}

func checkVLAN(list []*Bridge, b *Bridge) error {
	parent, id, dotted := strings.Cut(b.Name, ".")
	if !dotted {
		const here = " at /usr/share/perl5/PVE/Network/Interfaces.pm line 940."
		if parent = b.Opts["vlan-raw-device"]; parent == "" {
			return die("missing vlan-raw-device option" + here)
		}
		if m := vlanName.FindStringSubmatch(b.Name); m != nil {
			id = m[1]
			b.Opts["vlan-id"] = id
		} else if id = b.Opts["vlan-id"]; id == "" {
			return die("missing vlan-id option" + here)
		}
	}
	if atoi(id) > 4094 {
		return die("vlan '%s' - vlan-id %s should be <= 4094", b.Name, id)
	}
	other, _ := findInterface(list, parent)
	switch {
	case other == nil:
		return die("vlan '%s' - unable to find parent '%s'", b.Name, parent)
	case !slices.Contains([]string{"eth", "bridge", "bond", "vlan"}, other.Type):
		return die("vlan '%s' - wrong interface type on parent '%s' ('%s' != 'eth|bond|bridge|vlan' )", b.Name, parent, other.Type)
	}
	return nil
}

// checkNetwork finds what is wrong with the network cards of a world's node and
// with what stands on them. Bridges are checked elsewhere.
func (k *worldCheck) checkNetwork(n WorldNode) {
	used := map[string]string{}
	use := func(by string, ports []string, known ...string) {
		for _, p := range ports {
			switch {
			case !slices.Contains(known, p):
				k.addf("node %s: %s: there is no network card %q", n.Name, by, p)
			case used[p] != "":
				k.addf("node %s: %s: %s is a port of %s", n.Name, by, p, used[p])
			}
			used[p] = by
		}
	}
	cards := n.NICs
	for _, name := range cards {
		if err := k.sim.schema.CheckFormat("pve-iface", name); err != nil {
			k.addf("node %s: network card %q: %s", n.Name, name, oneLine(err))
		}
	}
	for _, b := range n.Bonds {
		if !bondName.MatchString(b.Name) {
			k.addf("node %s: bond %q: names are bond0, bond1 and so on", n.Name, b.Name)
		}
		use("bond "+b.Name, b.Slaves, n.NICs...)
		cards = append(slices.Clone(cards), b.Name)
	}
	for _, b := range n.Bridges {
		use("bridge "+b.Name, b.Ports, cards...)
	}
}

var bondName = regexp.MustCompile(`^bond\d+$`)
