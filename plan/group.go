package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// beyond is how far above a count guests are looked for that were made when it was
// larger. Looking is cheap: their tags show it.
const beyond = 1000

// groups plans the end of guests whose object stands for fewer now. With prune,
// they are found as all others that no manifest names.
func (p *planner) groups() []Object {
	var out []Object
	for _, g := range p.want.Groups {
		if !p.want.Prune {
			out = append(out, p.scaledDown(g)...)
		}
	}
	return out
}

func (p *planner) scaledDown(group model.Group) []Object {
	whole := Object{Owner: group.Owner}
	var out []Object
	for n := group.Count + 1; n <= group.Count+beyond; n++ {
		owner := group.Member(n)
		if _, named := p.vms[owner.Key]; named {
			continue // it has become an object of its own
		}
		for _, g := range p.members(group, owner, n) {
			switch m := g.Config; {
			case m == nil:
				whole.Look.Configs = append(whole.Look.Configs, g.VMID)
			case !g.OwnedBy(owner) || m.Marker.Group != group.Owner.Name:
			case !m.Signed.Proves() && !group.Owns(g.VMID, n):
				p.note(unproved(g, owner))
			case !group.ScaleDown && !group.Deleted:
				whole.Refused = append(whole.Refused, Refusal{
					What: fmt.Sprintf("destroy VM %d (%s)", g.VMID, g.Name), Why: fmt.Sprintf("count is %d", group.Count), Effect: LosesData,
					Allow: model.AllowScaleDown,
				})
			default:
				out = append(out, p.surplus(group, owner, g))
			}
		}
	}
	if !whole.Ready() {
		out = append(out, whole)
	}
	return out
}

// members returns the guests that may be the nth of a group: those with its tag, and those
// with its name and no tag yet.
func (p *planner) members(group model.Group, owner model.Owner, n int) []*model.Guest {
	list := slices.Clone(p.have.Tagged(owner))
	for _, g := range p.have.Named(fmt.Sprintf("%s-%d", group.Name, n)) {
		if _, _, tagged := model.ParseStateTag(g.Tags); !tagged && !g.Template && !g.Container {
			list = append(list, g)
		}
	}
	return list
}

// surplus plans the end of one of them.
func (p *planner) surplus(group model.Group, owner model.Owner, g *model.Guest) Object {
	o := Object{Owner: owner, VMID: g.VMID, Node: g.Node}
	if p.busy(&o, g) {
		return o
	}
	why := fmt.Sprintf("count is %d", group.Count)
	if group.Deleted {
		why = ending(owner)
	}
	c := &change{p: p, o: &o, v: model.VM{Owner: owner}, g: g, have: g.Config}
	c.destroy(why)
	return o
}
