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
// clone of. What is still in use stays until that is gone.
func (p *planner) removeOld(o *Object, i model.Image) {
	for _, g := range p.earlier(i) {
		if !g.Template {
			p.removeHalfMade(o, g)
			continue
		}
		linked, unread := p.linkedTo(g)
		if len(linked) > 0 {
			o.note("template %d on %s, an earlier one, stays while %s a linked clone of it", g.VMID, g.Node, whoIs(linked))
		}
		if len(linked) == 0 && !p.want.Quick {
			p.readSome(o, unread)
		}
		if len(linked)+len(unread) > 0 {
			o.Earlier = append(o.Earlier, Earlier{Template: model.Template{VMID: g.VMID, Name: g.Name, Node: g.Node}, Linked: linked})
			continue
		}
		if p.have.Volumes == nil {
			// Guests without our tags are linked clones, too, and Proxmox destroys no template that has any.
			o.Look.Volumes = true
			continue
		}
		if linked = p.hangOn(g); len(linked) > 0 {
			o.note("template %d on %s, an earlier one, stays while %s a linked clone of it", g.VMID, g.Node, whoIs(linked))
			o.Earlier = append(o.Earlier, Earlier{Template: model.Template{VMID: g.VMID, Name: g.Name, Node: g.Node}, Linked: linked})
			continue
		}
		o.step(Step{
			Action: model.Destroy{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: g.Config.Marker.Owner, Owned: !g.Config.Signed.Proves()},
			What:   fmt.Sprintf("destroy template %d", g.VMID), Why: "a newer one has taken its place", Effect: Live,
		})
	}
}

// hangOn names the owners of disks that are linked to those of a template, by the lists of the storages.
func (p *planner) hangOn(g *model.Guest) []string {
	base := fmt.Sprintf("base-%d-", g.VMID)
	var list []string
	for _, v := range p.have.Volumes.LinkedTo(g.VMID, func(volume string) bool { return strings.Contains(volume, base) }) {
		switch of := p.have.Guests[v.VMID]; {
		case of != nil && of.Template:
		case of != nil:
			list = append(list, nameFor(g, of))
		case !p.removes(v.ID):
			list = append(list, fmt.Sprintf("disk %s without a VM", v.ID))
		}
	}
	model.SortNames(list)
	return slices.Compact(list)
}

// noteOld adds notes about the templates of earlier generations while the new ones aren't ready.
func (p *planner) noteOld(o *Object, i model.Image) {
	for _, g := range p.earlier(i) {
		switch linked, _ := p.linkedTo(g); {
		case !g.Template:
		case len(linked) > 0:
			o.note("template %d on %s, an earlier one, stays while %s a linked clone of it", g.VMID, g.Node, whoIs(linked))
		default:
			o.note("template %d on %s, an earlier one, goes when the new ones are ready", g.VMID, g.Node)
		}
	}
}

// removeHalfMade plans the end of a VM that was to be a template of an earlier generation, once nothing is done
// with it any more.
func (p *planner) removeHalfMade(o *Object, g *model.Guest) {
	if n := p.have.Nodes[g.Node]; n == nil || !n.Online || p.busy(o, g) {
		return
	}
	o.step(Step{
		Action: model.Destroy{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: g.Config.Marker.Owner, Owned: !g.Config.Signed.Proves()},
		What:   fmt.Sprintf("destroy VM %d", g.VMID), Why: "it was to be a template, and a newer one has taken its place", Effect: Live,
	})
}

// readSome requests the configs of some guests that may be linked clones of a template, a few at a time, since the
// first linked clone decides. They may belong to other sets, so nothing else would read them.
func (p *planner) readSome(o *Object, unread []int) {
	const some = 20
	for _, id := range unread {
		if n := p.have.Nodes[p.have.Guests[id].Node]; n != nil && n.Online && len(o.Look.Configs) < some {
			o.Look.Configs = append(o.Look.Configs, id)
		}
	}
}

// Earlier is a template of an earlier generation of an image.
type Earlier struct {
	model.Template
	Linked []string // its linked clones; empty: not known yet
}

// String returns the reason for which the template is kept.
func (e Earlier) String() string {
	if len(e.Linked) == 0 {
		return "an earlier one, goes when no machine is a linked clone of it"
	}
	return fmt.Sprintf("an earlier one, stays while %s a linked clone of it", whoIs(e.Linked))
}

// whoIs names guests, with the verb.
func whoIs(names []string) string {
	const most = 3
	switch n := len(names); {
	case n == 1:
		return names[0] + " is"
	case n > most:
		return fmt.Sprintf("%s and %d more are each", strings.Join(names[:most], ", "), n-most)
	}
	return join(names) + " are each"
}

// staying joins the sentences about templates that can't be removed yet.
func staying(texts []string) string {
	const most = 3
	if n := len(texts); n > most {
		return fmt.Sprintf("%s; and %d more", strings.Join(texts[:most], "; "), n-most)
	}
	return strings.Join(texts, "; ")
}

// earlier returns the templates of earlier generations of an image.
func (p *planner) earlier(i model.Image) []*model.Guest {
	return slices.DeleteFunc(p.generations(i), func(g *model.Guest) bool { return madeOf(g, i) && !p.superseded(i, g) })
}

// superseded reports whether a copy of a template isn't needed any more: people have made a template of
// the same name on its node.
func (p *planner) superseded(i model.Image, g *model.Guest) bool {
	if !i.Made() {
		return false
	}
	made, _, _ := p.madeByHand(i)
	return slices.ContainsFunc(made, func(other *model.Guest) bool { return other.Template && other.Node == ownerNode(g) })
}

// lookAtGenerations requests the configs of guests that may be earlier generations of an image.
func (p *planner) lookAtGenerations(o *Object, i model.Image) {
	current := map[*model.Guest]bool{}
	if !i.Made() {
		current[p.find(versioned(i), 0, i.Range).guest] = true
	}
	for _, node := range model.NamesOf(p.have.Nodes) {
		if owner := versioned(i.Copy(node)); len(p.have.Tagged(owner)) > 0 {
			current[p.find(owner, 0, i.Range).guest] = true
		}
	}
	for _, old := range p.candidates(i) {
		// Some are no templates: the image was changed before they were made.
		if !current[old] && old.Config == nil && slices.Contains(old.Tags, model.Tag) && !p.offline(old.VMID) {
			o.Look.Configs = append(o.Look.Configs, old.VMID)
		}
	}
}

// candidates returns the guests that may have been made for an image. The list of guests shows the names
// of new ones some seconds late.
func (p *planner) candidates(i model.Image) []*model.Guest {
	return slices.DeleteFunc(slices.Concat(p.have.Named(i.Owner.Name), p.have.Named(i.CopyName()), p.nameless()), func(g *model.Guest) bool {
		return g.Container || unnamed(g) && !slices.Contains(g.Tags, model.Tag)
	})
}

// generations returns the templates that were made for an image, as far as their
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

// linkedTo names the guests whose disks hang on those of the template; unread
// are the guests of which that isn't known, since their configs weren't read.
func (p *planner) linkedTo(template *model.Guest) (linked []string, unread []int) {
	shared := template.Config == nil || p.anyShared(template.Config)
	for _, g := range p.have.Guests {
		if g.VMID == template.VMID || g.Template || !shared && g.Node != template.Node {
			continue
		}
		if g.Config == nil {
			if _, _, tagged := model.ParseStateTag(g.Tags); tagged {
				unread = append(unread, g.VMID)
			}
			continue
		}
		if slices.ContainsFunc(g.Config.Disks, func(d model.Disk) bool { return hangsOn(template, d.Volume) }) {
			linked = append(linked, nameFor(template, g))
		}
	}
	slices.Sort(unread)
	model.SortNames(linked)
	return slices.Compact(linked), unread
}

// nameFor returns a guest's name for messages about a template. Guests of other namespaces
// aren't named.
func nameFor(template, g *model.Guest) string {
	if of, m := template.Marker(), g.Marker(); of != nil && m != nil && of.Owner.Namespace != m.Owner.Namespace {
		return "a machine of another namespace"
	}
	if unnamed(g) {
		return fmt.Sprintf("VM %d", g.VMID)
	}
	return fmt.Sprintf("%s (%d)", g.Name, g.VMID)
}

// hangsOn reports whether a disk needs those of a template: it is a linked clone of one, or is one itself, which
// somebody has attached to another VM. A base volume that was left of an earlier template with the same VMID
// needs nothing.
func hangsOn(template *model.Guest, volume string) bool {
	base := fmt.Sprintf("base-%d-", template.VMID)
	switch {
	case !strings.Contains(volume, base):
		return false
	case !strings.HasPrefix(model.VolumeName(volume), base) || template.Config == nil:
		return true
	}
	return slices.ContainsFunc(template.Config.Disks, func(d model.Disk) bool { return d.Volume == volume })
}
