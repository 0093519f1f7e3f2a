package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// copyImage plans the copy of a template for a node: clone it, tag the clone, migrate it to the node,
// make it a template there. The marker proves its owner from its first moment; its node, and
// whether it is a template, show what is left to do.
func (p *planner) copyImage(o *Object, c model.Image) {
	f := p.find(versioned(c), 0, c.Range)
	noteOf(o, f)
	o.Look = f.look
	if f.unsure() || f.wait != nil {
		o.Wait = f.wait
		return
	}
	_, from := p.origin(c, &o.Look)
	if !o.Look.Empty() {
		return
	}
	if g := f.guest; g != nil {
		o.VMID, o.Node = g.VMID, g.Node
		p.finishCopy(o, c, g, from)
		return
	}
	if from == nil {
		return // what it was to be a copy of has gone, which the image says
	}
	if former := p.formerImage(c); former.unsure() {
		o.Look, o.Wait = former.look, former.wait
		return
	}
	if !p.makes(o.Owner.Key, f.free) && p.hidden(o, c.Owner, f.free) || p.backOff(o) || p.unplaceable(o, from, c.On) {
		return
	}
	if o.Wait = p.converting(from); o.Wait != nil {
		return
	}
	p.makeCopy(o, c, from, f.free)
}

// unplaceable waits while a node can't get a copy.
func (p *planner) unplaceable(o *Object, from *model.Guest, node string) bool {
	why := p.copySite(from, node, &o.Look)
	if why.no() {
		kind := model.WaitPlace
		if why.lasting {
			kind = model.WaitUnfit
		}
		o.wait(kind, fmt.Sprintf("%s can't get a copy of it: %s", node, why.reason))
	}
	return why.no() || !o.Look.Empty()
}

func (p *planner) makeCopy(o *Object, c model.Image, from *model.Guest, vmid int) {
	owner, why := versioned(c), absent(o.Owner)
	to := model.Target{VMID: vmid, Node: from.Node}
	o.VMID, o.Node = vmid, c.On
	p.placed[vmid] = model.Placement{Owner: owner, Node: from.Node}
	kind, full := "clone", !p.linksMove(from.Config)
	if full {
		kind = "copy"
	}
	made := o.step(Step{
		Action: model.Clone{
			From: model.Target{VMID: from.VMID, Node: from.Node}, To: to, Name: c.CopyName(), Full: full,
			Description: model.Describe("", model.Marker{Owner: owner, VMID: vmid, Version: c.Version(), From: from.VMID}),
		},
		What: fmt.Sprintf("%s %s (%d) to VM %d on %s", kind, from.Name, from.VMID, vmid, from.Node), Why: why, Effect: New,
	})
	tags := copyTags(c)
	tagged := o.step(Step{Action: model.Configure{Target: to, Tags: &tags}, What: "tag it", Why: why, Effect: New}, made)
	p.bringOver(o, c, to, why, tagged)
}

// linksMove reports whether Proxmox migrates linked clones of a template: thin volumes of LVM don't
// say what they are clones of. Others must be full copies first, which takes time and room.
func (p *planner) linksMove(c *model.Config) bool {
	return !slices.ContainsFunc(c.Disks, func(d model.Disk) bool {
		s := p.have.Storages[d.Storage]
		return d.IsDisk() && (s == nil || s.Type != "lvmthin")
	})
}

// copyTags returns the tags of a copy.
func copyTags(c model.Image) []string {
	return []string{model.Tag, model.StateTag(versioned(c), c.Version())}
}

// bringOver migrates a clone to its node and makes it a template there.
func (p *planner) bringOver(o *Object, c model.Image, at model.Target, why string, after int) {
	if at.Node != c.On {
		after = o.step(Step{
			Action: model.Migrate{Target: at, To: c.On},
			What:   fmt.Sprintf("migrate VM %d to %s", at.VMID, c.On), Why: why, Effect: New,
		}, after)
		at.Node = c.On
	}
	o.step(Step{
		Action: model.MakeTemplate{Target: at},
		What:   fmt.Sprintf("make VM %d a template", at.VMID), Why: why, Effect: New,
	}, after)
}

// finishCopy completes a copy that is there in part.
func (p *planner) finishCopy(o *Object, c model.Image, g, from *model.Guest) {
	if p.busy(o, g) {
		return
	}
	switch {
	case g.Config == nil:
		o.Look.Configs = append(o.Look.Configs, g.VMID)
	case g.Template && g.Node != c.On:
		o.wait(model.WaitForeign, fmt.Sprintf("template %d is for %s and was moved to %s; move it back, or destroy it", g.VMID, c.On, g.Node))
	case g.Template:
		p.convert(o, g)
	case g.Node != c.On && from != nil && p.unplaceable(o, from, c.On):
	default:
		const why = "it is a copy in the making"
		p.bringOver(o, c, model.Target{VMID: g.VMID, Node: g.Node}, why, p.settle(o, c, g, why))
	}
}

// settle gives a copy its tags, and takes away what it has from its template and would be in the way
// of its end.
func (p *planner) settle(o *Object, c model.Image, g *model.Guest, why string) int {
	tags := copyTags(c)
	slices.Sort(tags)
	act := model.Configure{Target: model.Target{VMID: g.VMID, Node: g.Node}, Digest: g.Config.Digest}
	if !slices.Equal(slices.Sorted(slices.Values(g.Config.Tags)), tags) {
		act.Tags = &tags
	}
	if g.Config.Options["protection"] == "1" {
		act.Delete = []string{"protection"}
	}
	if act.Tags == nil && act.Delete == nil {
		return 0
	}
	return o.step(Step{Action: act, What: "tag it", Why: why, Effect: New})
}

// gatherCopies plans the copies of a template that people made, where some are needed or there.
func (p *planner) gatherCopies(o *Object, i model.Image) (copies []Object) {
	there := p.copiesSeen(i) && (!i.NoCopies || len(p.have.Named(i.CopyName())) > 0)
	asked := slices.ContainsFunc(p.want.Images, func(c model.Image) bool { return c.On != "" && c.Owner == i.Owner })
	if i.Implied || i.Lent || !there && !asked && len(p.needed[i.Owner.Key])+len(i.Ahead)+len(i.Asked) == 0 {
		return nil
	}
	if p.lookAtGenerations(o, i); !o.Look.Empty() {
		return nil
	}
	if i.NoCopies {
		p.removeOld(o, i)
		return nil
	}
	rooted, from := p.origin(i, &o.Look)
	if from == nil {
		if o.Look.Empty() {
			p.removeOld(o, i) // its disks are shared by now
		}
		return nil
	}
	return p.gather(o, rooted)
}

// dropFailed destroys clones that were to be copies and that their nodes couldn't take: also those that
// Proxmox calls templates, but whose disks it couldn't make base volumes. Machines are placed elsewhere
// then.
func (p *planner) dropFailed(o *Object, i model.Image) {
	for _, node := range model.NamesOf(p.have.Nodes) {
		c := i.Copy(node)
		g := p.find(versioned(c), 0, c.Range).guest
		switch {
		case g == nil || g.Lock != "" || !p.givenUp(c) || len(p.have.TasksOf(g.VMID)) > 0:
			continue
		case g.Config == nil:
			o.Look.Configs = append(o.Look.Configs, g.VMID)
			continue
		case g.Template && len(p.unconverted(g)) == 0:
			continue
		}
		o.step(Step{
			Action: model.Destroy{Target: model.Target{VMID: g.VMID, Node: g.Node}, Owner: g.Config.Marker.Owner, Owned: !g.Config.Signed.Proves()},
			What:   fmt.Sprintf("destroy VM %d", g.VMID), Why: fmt.Sprintf("it was to be a copy of %s for %s, which couldn't take it", i.Owner.Name, node), Effect: Live,
		})
	}
}
