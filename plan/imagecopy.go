package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// A fetched image is one template where templates are on a shared storage. Where they are on
// local storages it is one a node: each is made when a machine is placed on its node, and is
// an object of its own in the plan, so that nodes don't wait for each other. What such an
// image itself plans is what concerns all of them: which are needed, and what is left over.

// nodeSign is before the node in the owner of a template that is for one node.
const nodeSign = "@"

// cutGeneration returns the UID of the object that a template of some generation was made for.
func cutGeneration(uid, version string) (of string, ok bool) {
	uid, _, _ = strings.Cut(uid, nodeSign)
	return strings.CutSuffix(uid, "+"+version)
}

// madeOf reports whether a guest was made for an image as it is now, on whichever node.
func madeOf(g *model.Guest, i model.Image) bool {
	return g.OwnedBy(versioned(i)) || g.OwnedBy(versioned(i.Copy(ownerNode(g))))
}

// ownerNode returns the node that a template was made for; empty: for all.
func ownerNode(g *model.Guest) string {
	if m := g.Marker(); m != nil {
		_, node, _ := strings.Cut(m.Owner.UID, nodeSign)
		return node
	}
	return ""
}

// spreads reports whether an image is one template a node.
func (p *planner) spreads(i model.Image, look *Look) bool {
	if i.Lent || i.Deleted {
		return false
	}
	if copyable(i) {
		_, from := p.origin(i, look)
		return from != nil
	}
	if i.URL == "" {
		return false
	}
	if known, ok := p.spread[i.Owner.Key]; ok {
		return known
	}
	for _, n := range p.nodesFor(model.VM{}) {
		site, why := p.imageSite(i, n.Name, look)
		if !look.Empty() {
			return false
		}
		if !why.no() {
			p.spread[i.Owner.Key] = !site.shared
			return !site.shared
		}
	}
	p.spread[i.Owner.Key] = false
	return false
}

// copies returns the finished templates of an image that are for one node each.
func (p *planner) copies(i model.Image) (list []*model.Guest, look Look) {
	spread := p.spread[i.Owner.Key]
	for _, node := range model.NamesOf(p.have.Nodes) {
		owner := versioned(i.Copy(node))
		if !spread && len(p.have.Tagged(owner)) == 0 {
			continue
		}
		f := p.find(owner, 0, i.Range)
		switch {
		case !f.look.Empty():
			look.Add(p.reachable(f.look))
		case f.guest == nil || !f.guest.Template || f.guest.Lock != "":
		case f.guest.Config == nil && p.offline(f.guest.VMID):
		case f.guest.Config == nil:
			look.Configs = append(look.Configs, f.guest.VMID)
		case p.converting(f.guest) == nil:
			list = append(list, f.guest)
		}
	}
	return list, look
}

// need records that a node needs a template of an image.
func (p *planner) need(c model.Image) {
	if p.needed[c.Owner.Key] == nil {
		p.needed[c.Owner.Key] = map[string]bool{}
	}
	p.needed[c.Owner.Key][c.On] = true
}

// copyNodes returns the nodes that need a template of an image, or have one that isn't finished.
func (p *planner) copyNodes(o *Object, i model.Image) []string {
	nodes := map[string]bool{}
	maps.Copy(nodes, p.needed[i.Owner.Key])
	for _, other := range p.want.Images {
		if other.On != "" && other.Owner == i.Owner && !p.givenUp(other) {
			nodes[other.On] = true
		}
	}
	for _, node := range p.ahead(o, i) {
		nodes[node] = true
	}
	for _, node := range p.asked(o, i) {
		nodes[node] = true
	}
	for _, node := range model.NamesOf(p.have.Nodes) {
		f := p.find(versioned(i.Copy(node)), 0, i.Range)
		o.Look.Add(p.reachable(f.look))
		switch {
		case i.Made() && f.guest != nil && (p.givenUp(i.Copy(node)) || p.superseded(i, f.guest)):
		case f.guest != nil || i.URL != "" && p.fetching(i, node, false) != nil:
			nodes[node] = true
		}
	}
	for _, g := range p.earlier(i) {
		if slot, why := p.copySlot(i, g.Node, &o.Look); !why.no() && !(i.Made() && p.reached(i, slot)) {
			nodes[slot] = true
		}
	}
	if i.Made() {
		return slices.Sorted(maps.Keys(nodes))
	}
	if first := p.firstNode(i, &o.Look); len(nodes) == 0 && !i.Used && first != "" && p.found[versioned(i)].guest == nil {
		nodes[first] = true
	}
	return slices.Sorted(maps.Keys(nodes))
}

// givenUp reports whether a node couldn't make the requested template, so that guests go elsewhere and none waits
// for it.
func (p *planner) givenUp(c model.Image) bool {
	f, failed := p.have.Failed[c.Object().Key]
	if !failed || f.Unread || !f.Hard && !f.Full {
		return false
	}
	for _, b := range p.bound {
		if b.Template == c.Object().Key {
			return false
		}
	}
	return true
}

// ahead returns the nodes that get a template before a machine needs it, as declared.
func (p *planner) ahead(o *Object, i model.Image) (list []string) {
	all := slices.Contains(i.Ahead, model.AllNodes)
	for _, n := range p.nodesFor(model.VM{}) {
		if !all && !slices.Contains(i.Ahead, n.Name) {
			continue
		}
		if p.reached(i, n.Name) {
			continue
		}
		if slot, why := p.copySlot(i, n.Name, &o.Look); !why.no() {
			list = append(list, slot)
		} else if o.Look.Empty() {
			o.note("%s gets no template of it: %s", n.Name, why.reason)
		}
	}
	return list
}

// unknownNode waits if an image names a node that isn't there.
func (p *planner) unknownNode(o *Object, i model.Image) bool {
	for _, name := range i.Ahead {
		if name != model.AllNodes && p.have.Nodes[name] == nil {
			o.wait(model.WaitMissing, fmt.Sprintf("nodes names %s, which isn't in the cluster; there are %s", name, strings.Join(model.NamesOf(p.have.Nodes), ", ")))
		}
	}
	return o.Wait != nil
}

// reached reports whether a node has a template of the image, or shares the storage of one.
func (p *planner) reached(i model.Image, node string) bool {
	guests, _, _ := p.imageGuests(i)
	return slices.ContainsFunc(guests, func(g *model.Guest) bool {
		return g.Node == node || g.Config != nil && p.reaches(&source{guest: g, shared: p.allShared(g.Config)}, node)
	})
}

// firstNode returns the node on which an image is made that no machine needs yet; empty: none.
func (p *planner) firstNode(i model.Image, look *Look) string {
	for _, n := range p.nodesFor(model.VM{}) {
		if _, why := p.imageSite(i, n.Name, look); !why.no() && look.Empty() {
			return n.Name
		}
	}
	return ""
}
