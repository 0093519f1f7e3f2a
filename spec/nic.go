package spec

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

var nicModels = []string{
	"virtio", "e1000", "e1000e", "rtl8139", "vmxnet3",
	"e1000-82540em", "e1000-82544gc", "e1000-82545em", "i82551", "i82557b", "i82559er", "ne2k_isa", "ne2k_pci", "pcnet",
}

var nicSlot = regexp.MustCompile(`^net([0-9]|[12][0-9]|3[01])$`)

// Network is a network interface of a machine.
type Network struct {
	Name     string // of the network, see [Cluster.Networks]
	Slot     string // net0 to net31; empty: by its place in the list
	Bridge   string // empty: that of the network
	VLAN     int
	MAC      string // empty: see [MAC]
	Model    string // empty: virtio
	MTU      int    // 1: that of the bridge
	Firewall *bool
	Rate     string // megabytes a second
	Queues   int
	LinkDown bool
	StaticIP *StaticIP // nil: none
	DHCP     *bool     // nil: if there is no StaticIP
	DHCP6    bool
	SLAAC    bool
}

// StaticIP are fixed addresses of an interface, with prefix lengths.
type StaticIP struct {
	FromPool  string // the network whose pool has the address; empty: see Address
	Address   string
	Addresses []string // further ones
	Gateway   string
	Gateway6  string
	DNS       []string
	Search    []string
}

// nic is an interface with what the guest is to make of it.
type nic struct {
	model.NIC
	field    string
	v4, v6   []netip.Prefix
	gateway  string
	gateway6 string
	dns      []string
	search   []string
	dhcp     bool
	dhcp6    bool
	slaac    bool
	pool     *model.AddressPool // nil: none
}

// addressed reports whether the interface has a configuration of addresses.
func (n nic) addressed() bool { return n.dhcp || n.dhcp6 || n.slaac || n.static() }

// static reports whether the interface has fixed addresses.
func (n nic) static() bool { return n.pool != nil || len(n.v4)+len(n.v6) > 0 }

// has reports whether the interface has a fixed address of a family.
func (n nic) has(f model.Family) bool {
	if n.pool != nil {
		return n.pool.Size(f) > 0
	}
	return f == model.IPv4 && len(n.v4) > 0 || f == model.IPv6 && len(n.v6) > 0
}

// maxNICs is how many network cards Proxmox takes.
const maxNICs = 32

// networks translates the network interfaces.
func (b *build) networks(nets []Network) []nic {
	if nets == nil && b.bare {
		nets = []Network{{Name: "default"}} // nothing else gives it one
	}
	if len(nets) > maxNICs {
		b.fail("networks", "a machine has at most %d interfaces", maxNICs)
	}
	var out []nic
	names := map[string]int{}
	for i, n := range nets {
		field := fmt.Sprintf("networks[%d]", i)
		if first, twice := names[n.Name]; twice && n.Name != "" {
			b.fail(field+".name", "%s is there twice, first as %s; give it another name, and a bridge", n.Name, inMachine("networks[%d]", first))
		}
		names[n.Name] = i
		out = append(out, b.nic(field, i, n))
		slot := out[i].Slot
		if first := slices.IndexFunc(out[:i], func(o nic) bool { return o.Slot == slot }); first >= 0 {
			b.fail(field+".slot", "%s is that of %s too", slot, inMachine("networks[%d]", first))
		}
	}
	return out
}

func (b *build) nic(field string, index int, n Network) nic {
	out := nic{field: field, NIC: model.NIC{Slot: "net" + strconv.Itoa(index), Name: n.Name, Model: n.Model, MAC: strings.ToUpper(n.MAC)}}
	if n.Slot != "" {
		if out.Slot = n.Slot; !nicSlot.MatchString(n.Slot) {
			b.fail(field+".slot", "want a slot from net0 to net31, have %q", suggest.Shortened(n.Slot))
		}
	}
	if out.Model == "" {
		out.Model = "virtio"
	}
	b.checkWord(field+".model", out.Model, nicModels...)
	b.plug(field, n, &out.NIC)
	switch {
	case n.Name == "":
		b.fail(field+".name", "is missing")
	case n.MAC == "":
		out.MAC = MAC(b.m.Owner, n.Name)
	case !goodMAC(n.MAC):
		b.fail(field+".mac", "want a MAC address of one machine such as 02:00:00:aa:bb:cc, have %q", suggest.Shortened(n.MAC))
	}
	b.nicOptions(field, n, &out.NIC)
	b.addresses(field, n, &out)
	return out
}

// plug finds the bridge: the one that is named, or the one that the network's
// name stands for.
func (b *build) plug(field string, n Network, out *model.NIC) {
	known, ok := b.cluster.network(n.Name)
	if n.Bridge != "" {
		if _, named := b.cluster.Networks[n.Name]; !named {
			known = ClusterNetwork{}
		}
		known.Bridge, ok = n.Bridge, true
	}
	if !ok {
		b.fail(field+".bridge", "is missing: no bridge is known for a network named %q; name one here or in %s of the %s (known are %s, and bridges such as vmbr0 by their own names)",
			suggest.Shortened(n.Name), inCluster("networks"), TheCluster, strings.Join(b.cluster.networkNames(), ", "))
		return
	}
	out.Bridge, out.VLAN, out.MTU = known.Bridge, known.VLAN, known.MTU
	if out.Firewall = b.walled(); known.Firewall != nil {
		out.Firewall = *known.Firewall
	}
	if n.VLAN != 0 {
		out.VLAN = n.VLAN
	}
	if n.MTU != 0 {
		out.MTU = n.MTU
	}
	if n.Firewall != nil {
		out.Firewall = *n.Firewall
	}
	b.checkNetwork(field, out.Bridge, out.VLAN, out.MTU)
	if out.MTU != 0 && out.Model != "virtio" {
		b.fail(field+".mtu", "is for interfaces of the model virtio")
	}
}

func (b *build) nicOptions(field string, n Network, out *model.NIC) {
	set := func(key, value string) {
		if out.Options == nil {
			out.Options = map[string]string{}
		}
		out.Options[key] = prop.Properties("net0", "virtio,"+key+"="+value)[key]
	}
	if n.Rate != "" {
		if rate, err := strconv.ParseFloat(n.Rate, 64); err != nil || rate <= 0 || rate > 1e6 {
			b.fail(field+".rate", "want megabytes a second, such as 12.5, have %q", suggest.Shortened(n.Rate))
		} else {
			set("rate", strconv.FormatFloat(rate, 'f', -1, 64))
		}
	}
	if n.Queues < 0 || n.Queues > 64 {
		b.fail(field+".queues", "want a number from 0 to 64, have %d", n.Queues)
	} else if n.Queues > 0 {
		set("queues", strconv.Itoa(n.Queues))
	}
	if n.LinkDown {
		set("link_down", "1")
	}
}

func goodMAC(text string) bool {
	hw, err := net.ParseMAC(text)
	return err == nil && len(hw) == 6 && strings.Count(text, ":") == 5 && hw[0]&1 == 0
}

// MAC returns the address of an interface without one: a locally administered address that follows from its
// arguments.
func MAC(owner model.Owner, name string) string {
	sum := sha256.Sum256([]byte("mac\x00" + owner.ID() + "\x00" + name))
	sum[0] = sum[0]&0xfc | 0x02
	return strings.ToUpper(net.HardwareAddr(sum[:6]).String())
}
