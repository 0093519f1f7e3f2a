package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// prune plans the end of guests that this set made and no longer names.
func (p *planner) prune() []Object {
	wanted := map[string]string{} // names by owner
	for _, v := range p.want.VMs {
		wanted[v.Owner.ID()] = v.Name
	}
	for _, i := range p.want.Images {
		wanted[i.Owner.ID()] = i.Owner.Name
		wanted[versioned(i).ID()] = i.Owner.Name
	}
	set := Object{Owner: model.Owner{Set: p.want.Set, Key: model.Key{Kind: "Set", Name: p.want.Set}}}
	var out []Object
	for _, id := range slices.Sorted(keysOf(p.have.Guests)) {
		g := p.have.Guests[id]
		switch {
		case !p.suspect(g, wanted):
		case g.Config == nil:
			set.Look.Configs = append(set.Look.Configs, id)
		case g.Config.Half:
			set.wait(WaitOwner, beingMade(g))
		default:
			if o, ok := p.leftOver(g, wanted); ok {
				out = append(out, o)
			}
		}
	}
	if !set.Ready() {
		out = append(out, set)
	}
	return out
}

// suspect tells, from the list alone, whether this set may have made a guest that
// it no longer names. Copies get our tags only when they are configured, and have
// those of their source until then: they don't run yet.
func (p *planner) suspect(g *model.Guest, wanted map[string]string) bool {
	if owner, _, ok := model.ParseStateTag(g.Tags); ok {
		name, named := wanted[owner]
		return !named || name != g.Name // also while its name isn't known
	}
	return slices.Contains(g.Tags, model.Tag) || g.Status != model.StatusRunning && !g.Template && !g.Container
}

// leftOver plans the end of a guest whose own config says that this set made
// it for an object that isn't there any more.
func (p *planner) leftOver(g *model.Guest, wanted map[string]string) (Object, bool) {
	m := g.Config.Marker
	if m == nil || m.Owner.Set != p.want.Set || m.Owner.Door != "vm" {
		return Object{}, false
	}
	if _, named := wanted[m.Owner.ID()]; named {
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
