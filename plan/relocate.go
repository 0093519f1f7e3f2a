package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// relocate plans the move of a guest to another node that a person has requested by its name. Nothing else is
// done to the guest.
func (p *planner) relocate(o *Object, v model.VM, g *model.Guest) {
	move, asked := p.want.Moves[v.Owner.Key]
	if !asked || g.Config == nil || p.templated(o, g) {
		return
	}
	c := &change{p: p, o: o, v: v, g: g, have: g.Config}
	switch {
	case g.Status == model.StatusUnknown:
		o.Look.Status = append(o.Look.Status, g.VMID) // also when it has arrived: its state is reported
		return
	case g.Node != move.From || g.Node == move.To:
		if move.Home == "" && c.have.Marker.Home != "" {
			c.remember("", "") // it is where people want it
		}
		return
	case c.unready():
		return
	}
	to, no := p.sendTo(c, move)
	if to == "" {
		if o.Look.Empty() {
			o.wait(model.WaitUnfit, "no node can take it ("+no.String()+")")
		}
		return
	}
	noted := 0
	if m := c.have.Marker; move.Home != "" && (m.Home != move.Home || m.Away != to) {
		noted = c.remember(move.Home, to)
	}
	c.goTo(to, move.Why, noted)
}

// unmoved waits with a move of a guest that isn't found.
func (p *planner) unmoved(o *Object, f finding) {
	if _, asked := p.want.Moves[o.Owner.Key]; !asked {
		return
	}
	if o.Wait = f.wait; o.Wait == nil {
		o.wait(model.WaitMissing, "its VM isn't there any more, so it isn't moved")
	}
}

// sendTo returns the node that a guest goes to, or why none can take it.
func (p *planner) sendTo(c *change, move model.Move) (to string, no refusals) {
	if move.To == "" {
		return p.destination(c)
	}
	n := p.have.Nodes[move.To]
	switch {
	case n == nil:
		no.add(move.To, p.unknown())
	case len(c.v.Place.Nodes) > 0 && !slices.Contains(c.v.Place.Nodes, move.To):
		no.add(move.To, never("its placement allows %s only", strings.Join(c.v.Place.Nodes, ", ")))
	default:
		if why := p.movable(c, n, p.nodeLoad()); why != "" {
			no.add(move.To, never("%s", why))
			return "", no
		}
		return move.To, nil
	}
	return "", no
}

// remember writes into the marker of a guest which node it is to come back to, and where it goes.
func (c *change) remember(home, away string) int {
	m := c.have.Marker.Bare()
	m.Home, m.Away = home, away
	text := model.Describe(c.have.Text, m)
	what := "note that it comes from " + home
	if home == "" {
		what = "forget that it came from " + c.have.Marker.Home
	}
	return c.o.step(Step{
		Action: model.Configure{Target: c.target(), Digest: c.have.Digest, Description: &text},
		What:   what, Why: "its node was drained", Effect: Live,
	})
}

// localDevice names what a guest has that only its node has; empty: nothing. Proxmox refuses to
// move such a guest.
func (c *change) localDevice() string {
	for _, k := range slices.Sorted(keysOf(c.have.Options)) {
		value := c.have.Options[k]
		mapped := mappingIn(value) != ""
		switch {
		case k == "ivshmem":
		case (isSlot(k, "hostpci") || isSlot(k, "usb")) && mapped:
			if c.running() && (isSlot(k, "usb") || !c.p.have.Devices["pci/"+mappingIn(value)].Live) {
				return fmt.Sprintf("%s is a device of %s, and Proxmox moves a machine with one only while it is off", k, c.g.Node)
			}
			continue
		case isSlot(k, "virtiofs") && c.running():
			return fmt.Sprintf("%s is a directory of %s, and Proxmox moves a machine with one only while it is off", k, c.g.Node)
		case isSlot(k, "usb") && strings.HasPrefix(strings.TrimPrefix(value, "host="), "spice"), isSlot(k, "serial") && value == "socket":
			continue
		case !isSlot(k, "hostpci") && !isSlot(k, "usb") && !isSlot(k, "serial") && !isSlot(k, "parallel"):
			continue
		}
		return fmt.Sprintf("%s is a device of %s, and Proxmox moves no machine with one", k, c.g.Node)
	}
	return ""
}
