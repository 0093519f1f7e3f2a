package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// A fetched image is one template where templates are on a shared storage. Where they are on
// local storages it is one a node: each is made when a machine is placed on its node, and is
// an object of its own in the plan, so that nodes don't wait for each other. What such an
// image itself plans is what concerns all of them: which are needed, and what is left over.

// nodeSign is before the node in the owner of a template that is for one node.
const nodeSign = "@"

// cutGeneration is the UID of the object that a template of some generation was made for.
func cutGeneration(uid, version string) (of string, ok bool) {
	uid, _, _ = strings.Cut(uid, nodeSign)
	return strings.CutSuffix(uid, "+"+version)
}

// madeOf reports whether a guest was made for an image as it is now, on whichever node.
func madeOf(g *model.Guest, i model.Image) bool {
	return g.OwnedBy(versioned(i)) || g.OwnedBy(versioned(i.Copy(ownerNode(g))))
}

// ownerNode is the node that a template was made for; empty: for all.
func ownerNode(g *model.Guest) string {
	if m := g.Marker(); m != nil {
		_, node, _ := strings.Cut(m.Owner.UID, nodeSign)
		return node
	}
	return ""
}

// spreads reports whether an image is one template a node.
func (p *planner) spreads(i model.Image, look *Look) bool {
	if i.Lent || i.Deleted {
		return false
	}
	if copyable(i) {
		_, from := p.origin(i, look)
		return from != nil
	}
	if i.URL == "" {
		return false
	}
	if known, ok := p.spread[i.Owner.Key]; ok {
		return known
	}
	for _, n := range p.nodesFor(model.VM{}) {
		site, why := p.imageSite(i, n.Name, look)
		if !look.Empty() {
			return false
		}
		if !why.no() {
			p.spread[i.Owner.Key] = !site.shared
			return !site.shared
		}
	}
	p.spread[i.Owner.Key] = false
	return false
}

// copies are the finished templates of an image that are for one node each.
func (p *planner) copies(i model.Image) (list []*model.Guest, look Look) {
	spread := p.spread[i.Owner.Key]
	for _, node := range model.NamesOf(p.have.Nodes) {
		owner := versioned(i.Copy(node))
		if !spread && len(p.have.Tagged(owner)) == 0 {
			continue
		}
		f := p.find(owner, 0, i.Range)
		switch {
		case !f.look.Empty():
			look.Add(f.look)
		case f.guest == nil || !f.guest.Template || f.guest.Lock != "":
		case f.guest.Config == nil:
			look.Configs = append(look.Configs, f.guest.VMID)
		case p.converting(f.guest) == nil:
			list = append(list, f.guest)
		}
	}
	return list, look
}

// need notes that a node needs a template of an image.
func (p *planner) need(c model.Image) {
	if p.needed[c.Owner.Key] == nil {
		p.needed[c.Owner.Key] = map[string]bool{}
	}
	p.needed[c.Owner.Key][c.On] = true
}

// copyNodes are the nodes that need a template of an image, or have one that isn't finished.
func (p *planner) copyNodes(o *Object, i model.Image) []string {
	nodes := map[string]bool{}
	maps.Copy(nodes, p.needed[i.Owner.Key])
	for _, other := range p.want.Images {
		if other.On != "" && other.Owner == i.Owner && !p.givenUp(other) {
			nodes[other.On] = true
		}
	}
	for _, node := range p.ahead(o, i) {
		nodes[node] = true
	}
	for _, node := range model.NamesOf(p.have.Nodes) {
		f := p.find(versioned(i.Copy(node)), 0, i.Range)
		o.Look.Add(f.look)
		switch {
		case i.Made() && f.guest != nil && (p.givenUp(i.Copy(node)) || p.superseded(i, f.guest)):
		case f.guest != nil || i.URL != "" && p.fetching(i, node, false) != nil:
			nodes[node] = true
		}
	}
	for _, g := range p.earlier(i) {
		if slot, why := p.copySlot(i, g.Node, &o.Look); !why.no() && !(i.Made() && p.reached(i, slot)) {
			nodes[slot] = true
		}
	}
	if i.Made() {
		return slices.Sorted(maps.Keys(nodes))
	}
	if first := p.firstNode(i, &o.Look); len(nodes) == 0 && !i.Used && first != "" && p.found[versioned(i)].guest == nil {
		nodes[first] = true
	}
	return slices.Sorted(maps.Keys(nodes))
}

// givenUp reports whether a node couldn't make the template that was asked for, so that guests go
// elsewhere. None waits for it.
func (p *planner) givenUp(c model.Image) bool {
	f, failed := p.have.Failed[c.Object().Key]
	if !failed || f.Unread || !f.Hard && !f.Full {
		return false
	}
	for _, b := range p.bound {
		if b.Template == c.Object().Key {
			return false
		}
	}
	return true
}

// ahead are the nodes that get a template before a machine needs it, as declared.
func (p *planner) ahead(o *Object, i model.Image) (list []string) {
	all := slices.Contains(i.Ahead, model.AllNodes)
	for _, n := range p.nodesFor(model.VM{}) {
		if !all && !slices.Contains(i.Ahead, n.Name) || all && !n.Online {
			continue
		}
		if p.reached(i, n.Name) {
			continue
		}
		if slot, why := p.copySlot(i, n.Name, &o.Look); !why.no() {
			list = append(list, slot)
		} else if o.Look.Empty() {
			o.note("%s gets no template of it: %s", n.Name, why.reason)
		}
	}
	return list
}

// unknownNode waits if an image names a node that isn't there.
func (p *planner) unknownNode(o *Object, i model.Image) bool {
	for _, name := range i.Ahead {
		if name != model.AllNodes && p.have.Nodes[name] == nil {
			o.wait(model.WaitMissing, fmt.Sprintf("nodes names %s, which isn't in the cluster; there are %s", name, strings.Join(model.NamesOf(p.have.Nodes), ", ")))
		}
	}
	return o.Wait != nil
}

// reached reports whether a node has a template of the image, or shares the storage of one.
func (p *planner) reached(i model.Image, node string) bool {
	guests, _, _ := p.imageGuests(i)
	return slices.ContainsFunc(guests, func(g *model.Guest) bool {
		return g.Node == node || g.Config != nil && p.reaches(&source{guest: g, shared: p.allShared(g.Config)}, node)
	})
}

// firstNode is where an image is made that no machine needs yet; empty: nowhere.
func (p *planner) firstNode(i model.Image, look *Look) string {
	for _, n := range p.nodesFor(model.VM{}) {
		if _, why := p.imageSite(i, n.Name, look); !why.no() && look.Empty() {
			return n.Name
		}
	}
	return ""
}

// gatherAll completes the plans of images, and puts the templates of those that are one a node
// behind them. Where these are needed is known when guests are placed.
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

// undecided are the templates that are asked for, while it isn't known what the image needs.
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

// stuckOn has an image wait for what a template of it waits for, where that doesn't end by itself:
// people look at the image.
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
	if f.guest == nil || len(p.needed[i.Owner.Key])+len(i.Ahead) > 0 || f.guest.Config != nil && !p.allShared(f.guest.Config) {
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
		if !made.Ready() {
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
	switch {
	case len(late) == 0:
		p.removeOld(o, i)
	case len(late) == 1:
		o.wait(model.WaitSource, fmt.Sprintf("its template on %s isn't ready yet", late[0]))
	default:
		o.wait(model.WaitSource, fmt.Sprintf("its templates on %s aren't ready yet", join(late)))
	}
	return copies
}
