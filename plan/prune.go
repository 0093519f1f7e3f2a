package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// prune plans the end of guests that this set made and no longer names.
func (p *planner) prune() []Object {
	wanted := map[string]bool{}
	for _, v := range p.want.VMs {
		wanted[v.Owner.ID()] = true
	}
	for _, i := range p.want.Images {
		wanted[i.Owner.ID()] = true
		wanted[versioned(i).ID()] = true
	}
	var ids []int
	for id, g := range p.have.Guests {
		if slices.Contains(g.Tags, model.Tag) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var out []Object
	var unread []int
	for _, id := range ids {
		g := p.have.Guests[id]
		if owner, _, ok := model.ParseStateTag(g.Tags); ok && wanted[owner] {
			continue
		}
		if g.Config == nil {
			unread = append(unread, id)
			continue
		}
		if o, ok := p.leftOver(g, wanted); ok {
			out = append(out, o)
		}
	}
	if len(unread) > 0 {
		out = append(out, Object{Owner: model.Owner{Set: p.want.Set, Key: model.Key{Kind: "Set", Name: p.want.Set}}, Look: Look{Configs: unread}})
	}
	return out
}

// leftOver plans the end of a guest whose own config says that this set made
// it for an object that isn't there any more.
func (p *planner) leftOver(g *model.Guest, wanted map[string]bool) (Object, bool) {
	m := g.Config.Marker
	if m == nil || m.Owner.Set != p.want.Set || m.Owner.Door != "vm" || wanted[m.Owner.ID()] {
		return Object{}, false
	}
	if _, isImage := p.images[m.Owner.Key]; isImage {
		return Object{}, false // an older generation: the image sees to it
	}
	o := Object{Owner: m.Owner, VMID: g.VMID, Node: g.Node}
	if p.busy(&o, g) {
		return o, true
	}
	if g.Template && p.linkedTo(g) {
		o.wait(WaitDependents, "guests are linked clones of it")
		return o, true
	}
	c := &change{p: p, o: &o, v: model.VM{Owner: m.Owner}, g: g, have: g.Config}
	c.destroy("no manifest of this set names it")
	return o, true
}
