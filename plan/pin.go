package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Names of templates aren't unique, and whoever may configure a VM and make it a
// template may give it any name. One template a node is one image; of two on the same
// node nobody knows which one is meant.

// Templates returns the observed templates that an image stands for, or why there are none.
func Templates(i model.Image, have *model.Observed) (list []*model.Guest, why string) {
	list, wait, look := newPlanner(model.Desired{}, have).templates(i)
	switch {
	case wait != nil:
		return nil, wait.Text
	case !look.Empty():
		return have.Named(i.Template), "" // their configs show which ones
	}
	return list, ""
}

// templates returns those that an image's name and pin stand for, and that can be cloned now.
func (p *planner) templates(i model.Image) ([]*model.Guest, *Wait, Look) {
	list, wait, look := p.namesakesOf(i)
	if wait != nil || !look.Empty() {
		return nil, wait, look
	}
	list = slices.DeleteFunc(list, func(g *model.Guest) bool { return g.Lock != "" })
	if len(list) == 0 {
		look, away := p.maybeTemplates(i)
		switch {
		case !look.Empty():
			return nil, nil, look
		case away != nil:
			return nil, &Wait{Reason: model.WaitNode, Text: fmt.Sprintf("%s; VM %d on %s may be it, and can't be read, since the node is offline", p.noTemplate(i).Text, away.VMID, away.Node)}, Look{}
		}
		return nil, p.noTemplate(i), Look{}
	}
	return list, nil, Look{}
}

// namesakesOf returns the templates that an image's name and pin stand for, also those that are locked.
func (p *planner) namesakesOf(i model.Image) ([]*model.Guest, *Wait, Look) {
	var list []*model.Guest
	var look Look
	for _, g := range p.have.Named(i.Template) {
		switch {
		case !g.Template || !pinned(i.Pin, g):
		case i.DiskStorage != "" && g.Config == nil:
			look.Configs = append(look.Configs, g.VMID)
		case i.DiskStorage != "" && rootStorage(g.Config) != i.DiskStorage:
		default:
			list = append(list, g)
		}
	}
	if !look.Empty() {
		return nil, nil, look
	}
	if same := sameNode(list); len(same) > 0 {
		return nil, &Wait{Reason: model.WaitSource, Do: model.Advice{Do: model.NameTemplate}, Text: fmt.Sprintf("%d templates on %s are named %q: %s",
			len(same), same[0].Node, i.Template, vmidList(same))}, Look{}
	}
	return list, nil, Look{}
}

// maybeTemplates looks at the guests that may have become the template of an image a moment
// ago: lists are some seconds late about names and about what is a template. Away is one on a node that is offline.
func (p *planner) maybeTemplates(i model.Image) (look Look, away *model.Guest) {
	for _, g := range slices.Concat(p.have.Named(i.Template), p.nameless()) {
		switch {
		case g.Config != nil || g.Template || g.Container:
		case p.offline(g.VMID):
			away = g
		default:
			look.Configs = append(look.Configs, g.VMID)
		}
	}
	return look, away
}

// pinned reports whether a template is where an image's pin wants it, as far as the
// list of guests shows that.
func pinned(pin model.Pin, g *model.Guest) bool {
	return (pin.Pool == "" || g.Pool == pin.Pool) &&
		(pin.Tag == "" || slices.Contains(g.Tags, pin.Tag)) &&
		(len(pin.Nodes) == 0 || slices.Contains(pin.Nodes, g.Node))
}

// sameNode returns templates that share a node; none, if each has its own.
func sameNode(list []*model.Guest) []*model.Guest {
	byNode := map[string][]*model.Guest{}
	for _, g := range list {
		byNode[g.Node] = append(byNode[g.Node], g)
	}
	for _, g := range list {
		if len(byNode[g.Node]) > 1 {
			return byNode[g.Node]
		}
	}
	return nil
}

// pinText says where a template has to be.
func pinText(pin model.Pin) string {
	var parts []string
	for _, part := range []struct{ text, of string }{
		{pin.Pool, "in pool "}, {pin.Tag, "tagged "}, {strings.Join(pin.Nodes, " or "), "on "}, {pin.DiskStorage, "on storage "},
	} {
		if part.text != "" {
			parts = append(parts, part.of+part.text)
		}
	}
	return strings.Join(parts, " and ")
}

func vmidList(list []*model.Guest) string {
	var parts []string
	for _, g := range list {
		parts = append(parts, itoa(g.VMID))
	}
	return join(parts)
}

func templateList(list []*model.Guest) string {
	var parts []string
	for _, g := range list {
		parts = append(parts, fmt.Sprintf("%d on %s", g.VMID, g.Node))
	}
	if len(parts) == 1 {
		return "is " + parts[0]
	}
	return "are " + join(parts)
}

// join puts an "and" before the last.
func join(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// resolved says what the name of an image stands for.
func (p *planner) resolved(o *Object, i model.Image, guests []*model.Guest) {
	if len(guests) > 1 {
		o.Resolved = fmt.Sprintf("%s is one template a node: %s", i.Template, strings.TrimPrefix(templateList(guests), "are "))
		p.unlike(o, i, guests)
	}
}

// unlike says how templates of one name aren't the same image by what their configs show: the sizes of their disks, the
// firmware and the kind of the system on them.
func (p *planner) unlike(o *Object, i model.Image, guests []*model.Guest) {
	content := func(g *model.Guest) string {
		var list []string
		for _, k := range []string{"bios", "ostype"} {
			if value := g.Config.Options[k]; value != "" {
				list = append(list, k+" "+value)
			}
		}
		for _, d := range g.Config.Disks {
			if d.IsDisk() {
				list = append(list, d.Slot+" of "+model.Bytes(d.Size))
			}
		}
		slices.Sort(list)
		return join(list)
	}
	var first *model.Guest
	for _, g := range guests {
		switch {
		case g.Config == nil || content(g) == "":
		case first == nil:
			first = g
		case content(g) != content(first):
			o.note("templates named %s aren't alike: %d on %s has %s, %d on %s has %s; say which is meant: by its VMID, pool, tag or nodes", i.Template, first.VMID, first.Node, content(first), g.VMID, g.Node, content(g))
			return
		}
	}
}

// moved says that a guest is to be cloned from another template than those before it:
// the name stands for another one now. What it stood for is in the markers of the
// guests that were made from it.
func (p *planner) moved(o *Object, v model.VM, from *model.Guest) {
	img := p.images[v.Source.Image]
	if img.Template == "" {
		return
	}
	before, unread := p.origins(v.Source.Image)
	if unread != 0 {
		o.Look.Configs = append(o.Look.Configs, unread)
		return
	}
	if len(before) == 0 || slices.Contains(before, original(from)) {
		return
	}
	var was []string
	for _, id := range before {
		was = append(was, itoa(id))
	}
	o.note("it is cloned from template %d on %s; other machines of %s were made from %s: the name %s didn't stand for %d then",
		from.VMID, from.Node, cmp.Or(v.Source.Image.Name, v.Source.Name()), join(was), img.Template, from.VMID)
}

// origins returns the templates that the guests of an image were made from, by their
// markers; unread is a guest that must be read first.
func (p *planner) origins(image model.Key) (before []int, unread int) {
	if was, ok := p.cloned[image]; ok {
		return was.before, was.unread
	}
	for _, v := range p.want.VMs {
		if v.Source.Image != image || v.Deleted {
			continue
		}
		for _, g := range p.have.Tagged(v.Owner) {
			switch {
			case g.Config == nil && p.owns(v.Owner, g.VMID, v.Range):
				unread = g.VMID
			case p.proved(g, v.Owner, v.Range) && g.Config.Marker.From != 0:
				before = append(before, g.Config.Marker.From)
			}
		}
	}
	slices.Sort(before)
	before = slices.Compact(before)
	if len(before) > 0 {
		unread = 0 // one that was read is enough
	}
	p.cloned[image] = origins{before, unread}
	return before, unread
}

type origins struct {
	before []int
	unread int
}
