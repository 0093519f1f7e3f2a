package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// imageGuests returns the templates that an image stands for: several when there
// is one of the name on several nodes.
func (p *planner) imageGuests(i model.Image) ([]*model.Guest, *Wait, Look) {
	switch {
	case i.Made():
		return p.withCopies(i)
	case i.Lent && i.URL != "":
		return p.lentTemplate(i)
	case i.URL != "":
		return p.fetchedTemplates(i)
	}
	return nil, nil, Look{}
}

// fetchedTemplates returns those that were made of a fetched image: one, or one a node.
func (p *planner) fetchedTemplates(i model.Image) ([]*model.Guest, *Wait, Look) {
	f := p.find(versioned(i), 0, i.Range)
	if f.wait != nil && f.wait.Reason == model.WaitTurn {
		f.wait = nil // which VMID it takes is its own affair
	}
	list, look := p.copies(i)
	if f.guest != nil && f.guest.Template {
		list = append([]*model.Guest{f.guest}, list...)
	}
	if len(list) > 0 {
		return list, nil, look
	}
	look.Add(f.look)
	return nil, f.wait, look
}

// lentTemplate returns the template of an image that another namespace has fetched. Its VMID is
// written down there, and its marker has to agree: this may be another Proxmox.
func (p *planner) lentTemplate(i model.Image) ([]*model.Guest, *Wait, Look) {
	if i.VMID == 0 {
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s hasn't been fetched yet", i.Owner.Key)}, Look{}
	}
	switch g := p.have.Guests[i.VMID]; {
	case g == nil:
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("template %d of %s isn't here, or isn't visible to this login: it is on the Proxmox that its namespace has fetched it to", i.VMID, i.Owner.Key)}, Look{}
	case g.Config == nil:
		return nil, nil, Look{Configs: []int{g.VMID}}
	case !madeOf(g, i) || !g.Template:
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("VM %d on %s isn't the template of %s, or isn't yet", g.VMID, g.Node, i.Owner.Key)}, Look{}
	default:
		list, look := p.copies(i)
		list = slices.DeleteFunc(list, func(other *model.Guest) bool { return other == g })
		return append([]*model.Guest{g}, list...), nil, look
	}
}

// noTemplate returns the wait for a template that doesn't exist or is locked.
func (p *planner) noTemplate(i model.Image) *Wait {
	for _, g := range p.have.Named(i.Template) {
		if g.Template && pinned(i.Pin, g) && g.Lock != "" {
			return &Wait{Reason: model.WaitLock, Text: fmt.Sprintf("template %s (%d) on %s is locked (%s)", g.Name, g.VMID, g.Node, g.Lock)}
		}
	}
	return &Wait{Reason: model.WaitMissing, Text: p.closeTo(i)}
}

// closeTo returns a sentence that no template has the image's name, with similar names.
func (p *planner) closeTo(i model.Image) string {
	name := i.Template
	for _, g := range p.have.Named(name) {
		if !g.Template {
			return fmt.Sprintf("VM %d is named %q, but isn't a template; make it one, or name its VMID as the source", g.VMID, name)
		}
	}
	if others := slices.DeleteFunc(slices.Clone(p.have.Named(name)), func(g *model.Guest) bool { return !g.Template }); len(others) > 0 {
		return fmt.Sprintf("none of the templates named %q is %s; there %s", name, pinText(i.Pin), templateList(others))
	}
	var names []string
	for _, g := range p.have.Guests {
		if g.Template && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return nobody(i) + ", and no templates can be seen at all (that needs the privilege VM.Audit on them)"
	}
	model.SortNames(names)
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	is := "there are"
	if len(names) == 1 {
		is = "there is"
	}
	if i.Implied {
		is = "templates:"
	}
	return fmt.Sprintf("%s; %s %s", nobody(i), is, strings.Join(names, ", "))
}

// nobody says that nothing has the name of an image. What a machine names without an object that
// describes it may have been meant as another machine.
func nobody(i model.Image) string {
	if i.Implied {
		return fmt.Sprintf("no declared machine or image and no template is named %q", i.Template)
	}
	return fmt.Sprintf("no template is named %q", i.Template)
}

// versioned returns the owner of one generation of an image: another URL or
// checksum is another template, made before the old one goes. Each node's template has an
// owner of its own, and so VMIDs of its own.
func versioned(i model.Image) model.Owner {
	o := i.Owner
	o.UID = strings.TrimPrefix(o.UID+"+"+i.Version(), "+")
	if i.On != "" {
		o.UID += nodeSign + i.On
	}
	return o
}

// image plans what guests are made from.
func (p *planner) image(i model.Image) Object {
	o := p.imageSteps(i)
	if !i.Deleted && i.ISO == "" {
		p.listTemplates(&o, i)
	}
	return o
}

func (p *planner) listTemplates(o *Object, i model.Image) {
	guests, _, _ := p.imageGuests(i)
	o.Templates = nil
	for _, g := range guests {
		o.Templates = append(o.Templates, model.Template{VMID: g.VMID, Name: g.Name, Node: g.Node})
	}
}

func (p *planner) imageSteps(i model.Image) Object {
	o := Object{Owner: i.Object(), On: i.On}
	switch {
	case i.Deleted:
		p.removeImage(&o, i)
	case i.URL != "":
		p.fetchImage(&o, i)
	case i.On != "":
		p.copyImage(&o, i)
	case i.ISO != "":
		p.findISO(&o, i)
	default:
		guests, wait, look := p.imageGuests(i)
		o.Wait, o.Look = wait, look
		if len(guests) > 0 {
			o.VMID, o.Node, o.Wait = guests[0].VMID, guests[0].Node, p.converting(guests[0])
			p.resolved(&o, i, guests)
		}
	}
	return o
}

// findISO looks for a file that people put there.
func (p *planner) findISO(o *Object, i model.Image) {
	if p.have.Files == nil {
		o.Look.Files = true
		return
	}
	for volume := range p.have.Files {
		if volume == i.ISO || path.Base(volume) == i.ISO {
			return
		}
	}
	o.wait(model.WaitMissing, fmt.Sprintf("no storage has the ISO %q", i.ISO))
}

// fetchImage plans a template that is made from a URL: fetch the file, make a
// guest from it, make that a template, remove the file.
func (p *planner) fetchImage(o *Object, i model.Image) {
	owner := versioned(i)
	f := p.find(owner, 0, i.Range)
	noteOf(o, f)
	o.Look = f.look
	if f.unsure() || f.wait != nil && i.On != "" {
		o.Wait = f.wait
		return
	}
	if p.have.Files == nil {
		o.Look.Files = true
		return
	}
	if g := f.guest; g != nil {
		o.VMID, o.Node = g.VMID, g.Node
		p.finishImage(o, i, g)
		return
	}
	if former := p.formerImage(i); former.unsure() {
		o.Look, o.Wait = former.look, former.wait
		return
	}
	if i.On == "" && (p.spreads(i, &o.Look) || !o.Look.Empty()) {
		return // its templates are made by themselves, see gather, and it needs no VMID of its own
	}
	if f.wait != nil {
		o.Wait = f.wait
		return
	}
	if !p.makes(o.Owner.Key, f.free) && p.hidden(o, i.Owner, f.free) || p.backOff(o) {
		return
	}
	p.makeImage(o, i, owner, f.free)
}

// formerImage looks for a template that was fetched for another object of the same
// name, which is gone: nobody would remove it.
func (p *planner) formerImage(i model.Image) finding {
	f, was, g := p.madeFor(i.Owner, i.Range, true, func(uid string) (string, bool) { return cutGeneration(uid, i.Version()) })
	if g == nil {
		return f
	}
	return finding{wait: &Wait{Reason: model.WaitForeign, Do: takeOver(i.Owner, was), Text: fmt.Sprintf("template %d on %s was fetched for another object of this name, which is gone", g.VMID, g.Node)}}
}

// finishImage completes a template that is there in part.
func (p *planner) finishImage(o *Object, i model.Image, g *model.Guest) {
	if p.busy(o, g) {
		return
	}
	if !g.Template {
		o.step(Step{
			Action: model.MakeTemplate{Target: model.Target{VMID: g.VMID, Node: g.Node}},
			What:   fmt.Sprintf("make VM %d a template", g.VMID), Why: "guests are cloned from templates", Effect: New,
		})
		return
	}
	if p.convert(o, g) {
		return
	}
	p.noteTemplate(o, i, g)
	if i.On != "" {
		p.removeFiles(o, i)
	}
}
