package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// holdings are the addresses that guests of the cluster have or claim.
type holdings struct {
	by     map[netip.Addr][]model.Holding
	unread []int // guests whose configs have to be read first
	hidden *model.Guest
	half   *model.Guest // somebody is making it, so its config doesn't have its addresses yet
}

// addressesHeld returns the addresses that guests have, as far as that is known.
func (p *planner) addressesHeld() *holdings {
	if p.holdings != nil {
		return p.holdings
	}
	h := &holdings{by: map[netip.Addr][]model.Holding{}}
	for _, id := range slices.Sorted(keysOf(p.have.Guests)) {
		g := p.have.Guests[id]
		for _, one := range g.Holdings() {
			h.by[one.Address] = append(h.by[one.Address], one)
		}
		_, ours := p.have.Placed[id]
		if g.Config != nil && g.Config.Half && !ours {
			h.half = g
		}
		if g.Template || g.AddressesKnown() {
			continue
		}
		if ours && len(p.have.Placed[id].Addresses) > 0 {
			continue // being made by us
		}
		if n := p.have.Nodes[g.Node]; n == nil || !n.Online {
			h.hidden = g
			continue
		}
		h.unread = append(h.unread, id)
	}
	for _, id := range slices.Sorted(keysOf(p.have.Placed)) {
		if g := p.have.Guests[id]; g == nil || g.Config == nil || g.Config.Half {
			h.place(id, p.have.Placed[id])
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(p.have.Kept), func(a, b model.Owner) int { return strings.Compare(a.ID(), b.ID()) }) {
		for _, a := range p.have.Kept[owner] {
			h.by[a] = append(h.by[a], model.Holding{Address: a, Name: owner.Name, Kept: owner, Claimed: true})
		}
	}
	p.holdings = h
	return h
}

// place notes the addresses of a guest that is being made.
func (h *holdings) place(vmid int, pl model.Placement) {
	for _, a := range pl.Addresses {
		h.by[a] = append(h.by[a], model.Holding{Address: a, VMID: vmid, Name: pl.Owner.Name, Node: pl.Node, Claimed: true})
	}
}

// others returns the guests that have an address or claim it, beside the owner's guest.
func (h *holdings) others(a netip.Addr, owner model.Owner, vmid int) []model.Holding {
	return slices.DeleteFunc(slices.Clone(h.by[a]), func(one model.Holding) bool { return one.VMID == vmid || one.Kept == owner })
}

// addressesKnown reports whether it is known which addresses are taken. What is to be read is a look; what
// can't be read is a wait.
func (p *planner) addressesKnown(o *Object, vmid int) bool {
	h := p.addressesHeld()
	if g := h.hidden; g != nil && g.VMID != vmid {
		o.wait(model.WaitNode, fmt.Sprintf("node %s is offline, and nobody knows which addresses VM %d there has; bring the node back, or remove the VM from the cluster if it is lost", g.Node, g.VMID))
		return false
	}
	if g := h.half; g != nil && g.VMID != vmid {
		o.Wait = &Wait{Reason: model.WaitOwner, Guest: g.VMID, Text: "which addresses are taken isn't known yet: " + p.beingMade(g)}
		return false
	}
	for _, id := range h.unread {
		if id != vmid {
			o.Look.Configs = append(o.Look.Configs, id)
		}
	}
	return len(o.Look.Configs) == 0
}

// exhausted says that a pool has no address left.
func exhausted(pool model.AddressPool, family model.Family, h *holdings) string {
	var users []string
	for _, a := range slices.SortedFunc(maps.Keys(h.by), netip.Addr.Compare) {
		if pool.Contains(a) && model.FamilyOf(a) == family {
			users = append(users, fmt.Sprintf("%s by %s", a, h.by[a][0]))
		}
	}
	const enough = 3
	more := ""
	if len(users) > enough {
		users, more = users[:enough], ", …"
	}
	return fmt.Sprintf("pool %s has no free %s address: all %d are taken (%s%s); add a range to the pool, or delete a machine that has one", pool.Name, family, pool.Size(family), strings.Join(users, ", "), more)
}
