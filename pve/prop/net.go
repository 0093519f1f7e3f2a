package prop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Net is a network card: net0, net1 …
type Net struct {
	Model      string // "virtio"
	MAC        string // empty: Proxmox makes one up
	Bridge     string
	Tag        int      // VLAN, 0 for none
	Trunks     []string // VLANs to pass: "2", "5-7"
	Firewall   bool
	LinkDown   bool
	MTU        int     // 1: that of the bridge
	Queues     int     // 0: one
	Rate       float64 // megabytes a second, 0: no limit
	HostTunnel Opt[bool]
	Rest
}

// Models of network cards, each of which can also be a key with the address as
// its value: virtio=BC:24:11:00:00:01.
var netModels = []string{
	"e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "e1000e", "i82551", "i82557b", "i82559er",
	"ne2k_isa", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3",
}

var netForm = form{
	name:   "network",
	key:    "model",
	need:   []string{"model"},
	sorted: true,
	expand: func(l List) List {
		var out List
		for _, p := range l {
			if slices.Contains(netModels, p.Key) {
				out = append(out, Pair{"model", p.Key}, Pair{"macaddr", p.Value})
			} else {
				out = append(out, p)
			}
		}
		return out
	},
}

var unicastMAC = regexp.MustCompile(`^(?i)[0-9a-f][02468ace](:[0-9a-f]{2}){5}$`)

var macAddress = codec[string]{
	parse: func(s string) (string, error) {
		if !unicastMAC.MatchString(s) {
			return "", fmt.Errorf("not a unicast MAC address")
		}
		return s, nil
	},
	print: text.print,
}

func (n *Net) fields() []field {
	return []field{
		bind("model", &n.Model, text),
		bind("macaddr", &n.MAC, macAddress).comparedBy(strings.ToUpper),
		bind("bridge", &n.Bridge, text),
		flag("firewall", &n.Firewall),
		optFlag("host-tunnel", &n.HostTunnel),
		flag("link_down", &n.LinkDown),
		bind("mtu", &n.MTU, natural),
		bind("queues", &n.Queues, natural),
		bind("rate", &n.Rate, number),
		bind("tag", &n.Tag, integer(1, 4094)),
		words("trunks", &n.Trunks),
	}
}

// ParseNet parses the value of a net key.
func ParseNet(s string) (Net, error) {
	var n Net
	if err := netForm.read(s, n.fields(), &n.Rest); err != nil {
		return Net{}, err
	}
	return n, nil
}

// String prints the network card as Proxmox stores it.
func (n Net) String() string {
	list := netForm.inOrder(n.fields(), n.Rest)
	if n.MAC == "" || !slices.Contains(netModels, n.Model) {
		return list.String()
	}
	list = slices.DeleteFunc(list[1:], func(p Pair) bool { return p.Key == "macaddr" })
	return append(List{{n.Model, n.MAC}}, list...).String()
}

// Equal reports whether both are the same network card.
func (n Net) Equal(o Net) bool { return equal(n.fields(), o.fields(), n.Rest, o.Rest) }

// Accepts reports whether have is what n asks for: the same, but for the MAC
// address if n leaves it to Proxmox.
func (n Net) Accepts(have Net) bool {
	if n.MAC == "" {
		n.MAC = have.MAC
	}
	return n.Equal(have)
}
