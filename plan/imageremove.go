package plan

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// removeImage plans the end of an image: what we made for it goes, unless
// guests hang on it.
func (p *planner) removeImage(o *Object, i model.Image) {
	if i.ISO != "" || i.Implied || i.Made() && !p.mayHaveCopies(o, i) {
		o.Gone = o.Look.Empty() && o.Wait == nil && !p.hiddenCopies(o, i) // templates that we didn't make stay
		return
	}
	var unread []int
	for _, g := range p.candidates(i) {
		if g.Config == nil && !p.otherSet(g, i.Owner) {
			unread = append(unread, g.VMID)
		}
	}
	if len(unread) > 0 {
		o.Look.Configs = unread
		return
	}
	if p.have.Files == nil && i.URL != "" {
		o.Look.Files = true
		return
	}
	if i.URL != "" {
		// One that is being made has neither a name nor a marker, and needs its file.
		if p.halfSeen() && !p.inTheMaking(o, i, append([]string{""}, model.NamesOf(p.have.Nodes)...)...) && (o.Wait != nil || !o.Look.Empty()) {
			return
		}
		p.removeStrays(o, i, nil)
	}
	list := p.generations(i)
	if len(list) == 0 && len(o.Steps) == 0 {
		p.imageGone(o, i)
		return
	}
	var stay []string
	for _, g := range list {
		why, more := p.removeTemplate(o, g, i.Owner)
		if why != "" {
			stay = append(stay, why)
		}
		if !more {
			break
		}
	}
	if len(stay) > 0 {
		o.wait(model.WaitDependents, staying(stay))
	}
}

// imageGone says that nothing of an image is left, unless something may still come or can't be seen.
func (p *planner) imageGone(o *Object, i model.Image) {
	switch t := p.arriving(i); {
	case o.Wait == nil && i.Made():
		o.Gone = !p.hiddenCopies(o, i)
	case t != nil:
		o.Wait = &Wait{Reason: model.WaitTask, Text: "its file is still on its way to a storage, and goes after that", Task: t.UPID}
	case o.Wait == nil:
		o.Gone = !p.hidden(o, i.Owner, p.firstFree(versioned(i), i.Range))
	}
}

// removeTemplate plans the end of a template of an image, or says why it stays; more: the others can be removed as well.
func (p *planner) removeTemplate(o *Object, g *model.Guest, image model.Owner) (stays string, more bool) {
	linked, unread := p.linkedTo(g)
	if len(linked) > 0 {
		return linkedStays(g, linked), true
	}
	if len(unread) > 0 {
		o.Look.Configs = unread
		return "", false
	}
	o.VMID, o.Node = g.VMID, g.Node
	if p.busy(o, g) {
		return "", false
	}
	if p.have.Volumes == nil {
		o.Look.Volumes = true
		return "", false
	}
	if hangers := p.hangers(g); len(hangers) > 0 {
		o.wait(model.WaitDependents, fmt.Sprintf("disks that no VM has any more are linked clones of template %d: %s; look what is on them, and remove them with pvesm free", g.VMID, strings.Join(hangers, ", ")))
		return "", true
	}
	if linked = p.hangOn(g); len(linked) > 0 {
		return linkedStays(g, linked), true
	}
	o.step(Step{
		Action: model.Destroy{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: g.Config.Marker.Owner, Owned: !g.Config.Signed.Proves()},
		What:   fmt.Sprintf("destroy template %d", g.VMID), Why: ending(image), Effect: LosesData,
	})
	return "", true
}

// linkedStays says that a template can't go before its linked clones.
func linkedStays(g *model.Guest, linked []string) string {
	return fmt.Sprintf("template %d on %s stays while %s a linked clone of it", g.VMID, g.Node, whoIs(linked))
}
