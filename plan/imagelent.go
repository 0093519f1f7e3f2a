package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// An image of another namespace is looked after there, with a login of that namespace. A guest that no node with a
// template of it can take is placed on one that could have a template, and asks for it: the door hands that on, and there it
// is one of the nodes that need the image.

// askable returns the template of an image of another namespace that it could make for a node, as something to clone
// from. Whether its login may do so isn't known here.
func (p *planner) askable(i model.Image, node string, src *source, why unfit, look *Look) (*source, unfit) {
	from := p.lentFrom(i, look)
	if from == nil || i.NoCopies {
		return src, why
	}
	if n := p.have.Nodes[node]; n == nil || !n.Online {
		return nil, now("offline")
	}
	for _, d := range from.Config.Disks {
		if s := p.have.Storages[d.Storage]; s != nil && !d.CDROM {
			if _, there := s.OnNode[node]; !there && !s.Late[node] {
				return nil, never("storage %s, which has template %d of %s, isn't there", s.Name, from.VMID, i.Owner.Name)
			}
		}
	}
	c, there := i.Copy(node), *from
	there.Node = node
	return &source{guest: &there, future: &c}, unfit{}
}

// lentFrom returns a template of another namespace's image that other nodes don't reach; nil: there is none.
func (p *planner) lentFrom(i model.Image, look *Look) *model.Guest {
	if i.Made() {
		_, from := p.origin(i, look)
		return from
	}
	guests, _, more := p.imageGuests(i)
	look.Add(more)
	at := slices.IndexFunc(guests, func(g *model.Guest) bool { return g.Config != nil && !p.allShared(g.Config) })
	if at < 0 {
		return nil
	}
	return guests[at]
}

// madeBefore leaves out the nodes on which another namespace would have to make the image, if there are others: nobody here knows
// whether it does.
func madeBefore(good []spot) []spot {
	lent := func(s spot) bool { return s.source != nil && s.source.future != nil && s.source.future.Lent }
	if rest := slices.DeleteFunc(slices.Clone(good), lent); len(rest) > 0 {
		return rest
	}
	return good
}

// asked returns the nodes that get a template of an image because guests of other namespaces wait for it there.
func (p *planner) asked(o *Object, i model.Image) (list []string) {
	for _, node := range i.Asked {
		if p.have.Nodes[node] == nil || p.reached(i, node) {
			continue // the others may mean another Proxmox
		}
		if slot, why := p.copySlot(i, node, &o.Look); !why.no() {
			list = append(list, slot)
		} else if o.Look.Empty() {
			o.note("machines of other namespaces wait for it on %s, which gets no template of it: %s", node, why.reason)
		}
	}
	return list
}
