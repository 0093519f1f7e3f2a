package spec

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/proxplane/proxplane/model"
)

// MaxReplicas is the maximal number of replicas of a machine.
const MaxReplicas = 1000

// ReplicaName returns the name of a replica: "web-1" is the first one of "web".
func ReplicaName(name string, index int) string { return name + "-" + strconv.Itoa(index+1) }

// Replica returns one of count equal machines, by its index from 0: it has a name and addresses
// of its own, and a VMID if one is named. A replica that is being deleted needs no addresses.
func (m Machine) Replica(index, count int) (Machine, Errors) {
	r := &report{object: m.Owner.Key}
	m.Member = &Member{Of: m.Owner.Key, Index: index, Count: count}
	m.Owner.Name = ReplicaName(m.Owner.Name, index)
	if m.Name != "" {
		m.Name = ReplicaName(m.Name, index)
	}
	if m.VMID != 0 {
		m.VMID += index
	}
	if m.Networks = slices.Clone(m.Networks); m.Deleted {
		m.Networks = nil
	}
	for i := range m.Networks {
		r.replicaNetwork(fmt.Sprintf("networks[%d]", i), &m.Networks[i], index, count)
	}
	return m, r.errs
}

// Group returns the group of a machine's replicas, by which replicas beyond a smaller count are
// found.
func (c *Cluster) Group(m Machine, count int, scaleDown bool) model.Group {
	name := m.Name
	if name == "" {
		name = m.Owner.Name
	}
	return model.Group{Owner: m.Owner, Name: name, Count: count, ScaleDown: scaleDown, Deleted: m.Deleted, VMID: m.VMID, Range: c.Range}
}

// replicaNetwork gives each machine addresses of its own: those after the ones of the machine
// before it.
func (r *report) replicaNetwork(field string, n *Network, index, count int) {
	if n.MAC != "" && count > 1 {
		if index == 0 {
			r.fail(field+".mac", "can't be that of %d machines; leave it out, and each has its own, the same each time", count)
		}
		n.MAC = ""
	}
	if n.StaticIP == nil {
		return
	}
	ip := *n.StaticIP
	ip.Addresses = slices.Clone(ip.Addresses)
	enough := true
	shift := func(field string, address *string) {
		if p, err := netip.ParsePrefix(*address); err == nil { // else it is told of the machine
			var ok bool
			if *address, ok = following(p, index); !ok && enough {
				r.fail(field, "there are fewer than %d addresses from %s on in %s", count, p.Addr(), p.Masked())
			}
			enough = enough && ok
		}
	}
	shift(field+".staticIP.address", &ip.Address)
	for i := range ip.Addresses {
		shift(fmt.Sprintf("%s.staticIP.addresses[%d]", field, i), &ip.Addresses[i])
	}
	if n.StaticIP = &ip; !enough {
		n.StaticIP = nil // one word about it is enough
	}
}

// following is the address that many after a given one, if the network has it:
// the last one of IPv4 is for all machines.
func following(p netip.Prefix, many int) (string, bool) {
	a := p.Addr()
	for range many {
		a = a.Next()
	}
	last := a.Is4() && p.Bits() < 31 && !p.Contains(a.Next())
	return netip.PrefixFrom(a, p.Bits()).String(), many == 0 || p.Contains(a) && !last
}
