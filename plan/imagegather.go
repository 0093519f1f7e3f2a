package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// gatherAll completes the plans of images, and appends those of their templates where an image is one template per
// node. Which nodes need one is known when guests have been placed.
func (p *planner) gatherAll(images []Object) []Object {
	var out []Object
	for _, o := range images {
		i, ok := p.images[o.Owner.Key]
		var copies []Object
		switch {
		case !ok || i.ISO != "" || i.Deleted:
		case !o.Look.Empty() || o.Wait != nil || p.unknownNode(&o, i):
		case i.URL == "":
			copies = p.gatherCopies(&o, i)
		case p.gathers(i) && p.spreads(i, &o.Look):
			copies = p.gather(&o, i)
		case o.Look.Empty() && len(o.Steps) == 0:
			p.lookAtGenerations(&o, i)
			p.removeStrays(&o, i, nil)
			p.removeOld(&o, i)
		}
		if ok && copies == nil && (!o.Look.Empty() || o.Wait != nil) {
			copies = p.undecided(o, i)
		}
		out = append(append(out, o), copies...)
	}
	return out
}

// undecided returns the templates that are asked for, while it isn't known what the image needs.
func (p *planner) undecided(image Object, i model.Image) (copies []Object) {
	nodes := maps.Clone(p.needed[i.Owner.Key])
	if nodes == nil {
		nodes = map[string]bool{}
	}
	for _, c := range p.want.Images {
		if c.On != "" && c.Owner == i.Owner {
			nodes[c.On] = true
		}
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		c := i.Copy(node)
		copies = append(copies, Object{Owner: c.Object(), On: node, Look: image.Look, Wait: image.Wait})
	}
	return copies
}

// stuckOn makes an image wait for what one of its templates waits for, where that doesn't end by itself:
// people look at the image, not at the template.
func (p *planner) stuckOn(o *Object, node string, made Object) {
	if made.Wait == nil || len(made.Steps) > 0 {
		return
	}
	switch made.Wait.Reason {
	case model.WaitTask, model.WaitLock, model.WaitSource, model.WaitTurn:
		return
	case model.WaitFailed:
		if !p.have.Failed[made.Owner.Key].Hard {
			return
		}
	}
	o.advise(made.Wait.Reason, fmt.Sprintf("its template on %s: %s", node, made.Wait.Text), made.Wait.Do)
}

// gathers reports whether an image may be one template a node: its one template isn't shared, or
// isn't there.
func (p *planner) gathers(i model.Image) bool {
	f := p.find(versioned(i), 0, i.Range)
	if f.guest == nil || len(p.needed[i.Owner.Key])+len(i.Ahead)+len(i.Asked) > 0 || f.guest.Config != nil && !p.allShared(f.guest.Config) {
		return true
	}
	return slices.ContainsFunc(model.NamesOf(p.have.Nodes), func(node string) bool { return len(p.have.Tagged(versioned(i.Copy(node)))) > 0 })
}

// gather plans the templates of an image that is one a node, and completes the plan of the
// image itself: it is ready when those are that it has to have.
func (p *planner) gather(o *Object, i model.Image) (copies []Object) {
	p.lookAtGenerations(o, i)
	nodes := p.copyNodes(o, i)
	if !o.Look.Empty() {
		return nil
	}
	p.making[i.Owner.Key] = nodes
	var late []string
	for _, node := range nodes {
		c := i.Copy(node)
		p.images[c.Object().Key] = c
		made := p.imageSteps(c)
		if n := p.have.Nodes[node]; !made.Ready() && n != nil && n.Online { // machines go elsewhere meanwhile
			late = append(late, node)
			p.stuckOn(o, node, made)
		}
		if f, failed := p.have.Failed[c.Object().Key]; failed && !f.Unread {
			o.note("its template on %s: %s failed: %s", node, f.What, f.Text)
		}
		copies = append(copies, made)
	}
	p.listTemplates(o, i)
	if len(o.Templates) > 0 {
		o.VMID, o.Node = o.Templates[0].VMID, o.Templates[0].Node
	}
	if i.Made() {
		p.dropFailed(o, i)
	} else {
		p.removeStrays(o, i, late)
	}
	if len(late) > 0 {
		p.noteOld(o, i)
	}
	switch {
	case len(late) == 0:
		p.removeOld(o, i)
		if p.nowhere(o, i) {
			copies = []Object{} // none is asked for
		}
	case len(late) == 1:
		o.wait(model.WaitSource, fmt.Sprintf("its template on %s isn't ready yet", late[0]))
	default:
		o.wait(model.WaitSource, fmt.Sprintf("its templates on %s aren't ready yet", join(late)))
	}
	return copies
}

// nowhere makes an image wait if no node has a template of it, since all that were to make one failed.
func (p *planner) nowhere(o *Object, i model.Image) bool {
	if len(o.Templates)+len(o.Steps) > 0 || o.Wait != nil || !o.Look.Empty() {
		return false
	}
	var failed []string
	for _, node := range model.NamesOf(p.have.Nodes) {
		if f, ok := p.have.Failed[i.Copy(node).Object().Key]; ok && !f.Unread {
			failed = append(failed, fmt.Sprintf("%s: %s failed: %s", node, f.What, f.Text))
		}
	}
	if len(failed) > 0 {
		o.wait(model.WaitFailed, "no node could make its template ("+strings.Join(failed, "; ")+")")
	}
	return o.Wait != nil
}
