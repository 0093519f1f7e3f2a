// Package join lets machines become nodes of a Kubernetes: a bootstrap token and a bootstrap
// kubeconfig for each machine, and the approval of its kubelet's certificate requests. Doors whose
// machines are nodes say which machines they have, see [Machines]; nothing here knows a door or
// Proxmox.
//
// A token belongs to one machine and lives an hour. Its ID follows from the machine, so that a
// process that was killed finds the token again, and there are never two for one machine. It is
// deleted when the Node exists, when the machine is gone, and when the token has expired.
package join

import (
	"context"
	"net/netip"
	"strings"
	"time"
)

// Settle is how long a machine has been a node before its first-boot data are removed. Their token was deleted when the Node
// appeared, and the delay keeps requests for the removal apart from those that create other machines.
const Settle = 15 * time.Second

// Machine is a door's machine that is or becomes a node.
type Machine struct {
	// ID identifies the machine among all machines of its door: the UID of the object that wants it.
	ID string
	// Node is the name of its Node.
	Node string
	// Names are further names that its serving certificate may have, such as a fully qualified one.
	Names []string
	// Addresses are those that Proxmox reports, or that the machine was given. None: they
	// aren't known yet.
	Addresses []netip.Addr
}

// Machines finds the machines of a door.
type Machines interface {
	// ByNode returns the machine whose Node has a name; nil: the door has none.
	ByNode(ctx context.Context, node string) (*Machine, error)
	// Exists reports whether there is a machine with an ID.
	Exists(ctx context.Context, id string) (bool, error)
}

// hasName reports whether a name is one of the machine's.
func (m *Machine) hasName(name string) bool {
	for _, own := range append([]string{m.Node}, m.Names...) {
		if strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

// hasAddress reports whether an address is one of the machine's.
func (m *Machine) hasAddress(a netip.Addr) bool {
	for _, own := range m.Addresses {
		if own.Unmap() == a.Unmap() {
			return true
		}
	}
	return false
}
