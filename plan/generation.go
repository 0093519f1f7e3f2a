package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// An image that changes gets a new template before the old one goes: each is a
// generation of it.

// removeOld plans the end of earlier generations that no guest is a linked
// clone of. What is still in use stays, without a word: it goes later.
func (p *planner) removeOld(o *Object, i model.Image, current *model.Guest) {
	for _, g := range p.generations(i) {
		if g.VMID == current.VMID || g.Config == nil {
			continue
		}
		// It isn't worth reading all configs for it.
		if linked, unread := p.linkedTo(g); linked || len(unread) > 0 {
			continue
		}
		o.step(Step{
			Action: model.Destroy{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: g.Config.Marker.Owner, Owned: !g.Config.Signed.Proves()},
			What:   fmt.Sprintf("destroy template %d", g.VMID), Why: "a newer one has taken its place", Effect: Live,
		})
	}
}

// candidates are the guests that may have been made for an image. The list of
// guests shows the names of new ones some seconds late.
func (p *planner) candidates(i model.Image) []*model.Guest {
	return slices.DeleteFunc(slices.Concat(p.have.Named(i.Owner.Name), p.nameless()), func(g *model.Guest) bool {
		return g.Container || unnamed(g) && !slices.Contains(g.Tags, model.Tag)
	})
}

// generations are the templates that were made for an image, as far as their
// configs were read.
func (p *planner) generations(i model.Image) []*model.Guest {
	var list []*model.Guest
	for _, g := range p.candidates(i) {
		if g.Config == nil || g.Config.Marker == nil {
			continue
		}
		m := g.Config.Marker.Owner
		if !p.proved(g, m, i.Range) {
			continue
		}
		if m.Door == i.Owner.Door && m.Set == i.Owner.Set && m.Key == i.Owner.Key {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *model.Guest) int { return a.VMID - b.VMID })
	return list
}

// linkedTo reports whether some guest's disk hangs on one of the template's; unread
// are the guests of which that isn't known, since their configs weren't read.
func (p *planner) linkedTo(template *model.Guest) (linked bool, unread []int) {
	base := fmt.Sprintf("base-%d-", template.VMID)
	for _, g := range p.have.Guests {
		if g.VMID == template.VMID || g.Template {
			continue
		}
		if g.Config == nil {
			if _, _, tagged := model.ParseStateTag(g.Tags); tagged {
				unread = append(unread, g.VMID)
			}
			continue
		}
		for _, d := range g.Config.Disks {
			if strings.Contains(d.Volume, base) {
				return true, nil
			}
		}
	}
	slices.Sort(unread)
	return false, unread
}

// removeImage plans the end of an image: what we made for it goes, unless
// guests hang on it.
func (p *planner) removeImage(o *Object, i model.Image) {
	if i.URL == "" {
		o.Gone = true // templates that we didn't make stay
		return
	}
	var unread []int
	for _, g := range p.candidates(i) {
		if g.Config == nil {
			unread = append(unread, g.VMID)
		}
	}
	if len(unread) > 0 {
		o.Look.Configs = unread
		return
	}
	list := p.generations(i)
	if len(list) == 0 {
		o.Gone = !p.hidden(o, i.Owner, p.firstFree(versioned(i), i.Range))
		return
	}
	for _, g := range list {
		linked, unread := p.linkedTo(g)
		if linked {
			o.wait(model.WaitDependents, fmt.Sprintf("guests are linked clones of template %d; it goes when they are gone", g.VMID))
			continue
		}
		if len(unread) > 0 {
			o.Look.Configs = unread
			return
		}
		o.VMID, o.Node = g.VMID, g.Node
		if p.busy(o, g) {
			return
		}
		if p.have.Volumes == nil {
			o.Look.Volumes = true
			return
		}
		if hangers := p.hangers(g); len(hangers) > 0 {
			o.wait(model.WaitDependents, fmt.Sprintf("disks that no VM has any more are linked clones of template %d: %s; look what is on them, and remove them with pvesm free", g.VMID, strings.Join(hangers, ", ")))
			continue
		}
		o.step(Step{
			Action: model.Destroy{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: g.Config.Marker.Owner, Owned: !g.Config.Signed.Proves()},
			What:   fmt.Sprintf("destroy template %d", g.VMID), Why: ending(i.Owner), Effect: LosesData,
		})
	}
}
