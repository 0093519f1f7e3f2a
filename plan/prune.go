package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// prune plans the end of guests that this set made and no longer names, and of
// such snapshots of those that it names.
func (p *planner) prune() []Object {
	wanted := p.wantedNames()
	images := map[model.Key]bool{}
	set := Object{Owner: model.Owner{Set: p.want.Set, Key: model.Key{Kind: "Set", Name: p.want.Set}}}
	var out []Object
	for _, id := range slices.Sorted(keysOf(p.have.Guests)) {
		g := p.have.Guests[id]
		switch {
		case !p.suspect(g, wanted):
		case g.Config == nil:
			set.Look.Configs = append(set.Look.Configs, id)
		case g.Config.Half:
			set.wait(model.WaitOwner, p.beingMade(g))
		default:
			o, ok := p.leftOver(g, wanted)
			if ok && !images[o.Owner.Key] {
				out = append(out, o)
			}
			images[o.Owner.Key] = ok && o.LeftImage != nil || images[o.Owner.Key]
		}
	}
	for _, v := range p.want.VMs {
		if o, ok := p.leftOverSnapshots(v, &set); ok {
			out = append(out, o)
		}
	}
	if !set.Ready() {
		out = append(out, set)
	}
	return out
}

// wantedNames returns the names of guests by their owners' IDs.
func (p *planner) wantedNames() map[string]string {
	wanted := map[string]string{}
	for _, v := range p.want.VMs {
		wanted[v.Owner.ID()] = v.Name
	}
	for _, i := range p.want.Images {
		wanted[i.Owner.ID()] = i.Owner.Name
		wanted[versioned(i).ID()] = i.Owner.Name
		for node := range p.have.Nodes {
			wanted[versioned(i.Copy(node)).ID()] = i.Owner.Name
		}
		if rooted, from := p.origin(i, &Look{}); from != nil && copyable(i) {
			for node := range p.have.Nodes {
				wanted[versioned(rooted.Copy(node)).ID()] = i.CopyName()
			}
		}
	}
	return wanted
}

// LeftBehind is a guest whose marker names the set and an object that no manifest names.
type LeftBehind struct {
	Guest    *model.Guest
	Owner    model.Owner
	Proved   bool // pruning treats it as the set's
	Retained bool // pruning releases it instead of destroying it
}

// Unnamed finds the machines that the set made or adopted and that nothing wanted names,
// and the guests whose configs must be read to know.
func Unnamed(want model.Desired, have *model.Observed) (left []LeftBehind, unread []int) {
	p := newPlanner(want, have)
	wanted := p.wantedNames()
	for _, id := range slices.Sorted(keysOf(have.Guests)) {
		g := have.Guests[id]
		owner, _, tagged := model.ParseStateTag(g.Tags)
		if _, named := wanted[owner]; !tagged || named || g.Template {
			continue
		}
		if g.Config == nil {
			unread = append(unread, id)
		} else if m := g.Config.Marker; p.ofSet(m) && !p.inGroup(m) {
			if _, named := wanted[m.Owner.ID()]; !named {
				left = append(left, LeftBehind{Guest: g, Owner: m.Owner, Proved: p.proved(g, m.Owner, want.Range), Retained: m.Retain})
			}
		}
	}
	return left, unread
}

// ofSet reports whether a marker is of the set that is planned for.
func (p *planner) ofSet(m *model.Marker) bool {
	return m != nil && m.Owner.Set == p.want.Set && m.Owner.Door == cmp.Or(p.want.Door, "vm")
}

// inGroup reports whether a marker is of a guest beyond the count of a wanted group: the
// group sees to it.
func (p *planner) inGroup(m *model.Marker) bool {
	return m.Group != "" && slices.ContainsFunc(p.want.Groups, func(g model.Group) bool { return g.Owner.Name == m.Group })
}

// suspect reports, from the list alone, whether this set may have made a guest that
// it no longer names. Copies get our tags only when they are configured, and have
// those of their source until then: they don't run yet. Nor does a guest whose tags
// somebody has taken off and that somebody has made a template of.
func (p *planner) suspect(g *model.Guest, wanted map[string]string) bool {
	if owner, _, ok := model.ParseStateTag(g.Tags); ok {
		name, named := wanted[owner]
		return !named || name != g.Name // also while its name isn't known
	}
	return slices.Contains(g.Tags, model.Tag) || g.Status != model.StatusRunning && !g.Container
}

// leftOver plans the end of a guest whose own config says that this set made
// it for an object that isn't there any more.
func (p *planner) leftOver(g *model.Guest, wanted map[string]string) (Object, bool) {
	m := g.Config.Marker
	if m == nil {
		m = p.leavingMarker(g)
	}
	if !p.ofSet(m) {
		return Object{}, false
	}
	if _, named := wanted[m.Owner.ID()]; named {
		return Object{}, false
	}
	if g.Config.Marker == nil {
		o := Object{Owner: m.Owner}
		p.finishRelease(&o, g)
		return o, true
	}
	if _, isImage := p.images[m.Owner.Key]; isImage {
		return Object{}, false // an older generation: the image sees to it
	}
	if !p.proved(g, m.Owner, p.want.Range) {
		p.note(unproved(g, m.Owner))
		return Object{}, false
	}
	o := Object{Owner: m.Owner, VMID: g.VMID, Node: g.Node}
	if m.Version != "" {
		i := p.imageOf(m.Owner)
		o.Owner, o.LeftImage = i.Owner, &i
		p.removeImage(&o, i)
		return o, true
	}
	if p.busy(&o, g) {
		return o, true
	}
	if g.Template {
		linked, unread := p.linkedTo(g)
		if len(linked) > 0 {
			o.wait(model.WaitDependents, whoIs(linked)+" a linked clone of it")
			unread = nil
		}
		if o.Look.Configs = unread; len(linked)+len(unread) > 0 {
			return o, true
		}
	}
	p.remove(&o, model.VM{Owner: m.Owner, Deleted: true, LeftOver: true}, g)
	return o, true
}

// imageOf returns the image that a template was made for, which is to go with all its templates.
func (p *planner) imageOf(o model.Owner) model.Image {
	uid, _, versioned := strings.Cut(o.UID, "+")
	if o.UID = uid; !versioned {
		o.UID = ""
	}
	return model.Image{Owner: o, URL: "left over", Range: p.want.Range, Deleted: true}
}

// leftOverSnapshots plans the end of the snapshots of a guest that this set took and
// no longer names. What must be read for that is the set's business: most guests
// have none.
func (p *planner) leftOverSnapshots(v model.VM, set *Object) (Object, bool) {
	if v.Deleted {
		return Object{}, false
	}
	f := p.find(v.Owner, v.VMID, v.Range)
	set.Look.Add(f.look)
	if f.guest == nil || !f.look.Empty() {
		return Object{}, false
	}
	if f.guest.Snapshots == nil {
		set.Look.Snapshots = append(set.Look.Snapshots, f.guest.VMID)
		return Object{}, false
	}
	key := v.Owner.Key
	s := model.Snapshot{Owner: v.Owner, VM: key, LeftOver: true}
	s.Owner.Kind += "Snapshots"
	if len(p.unnamedSnapshots(s, f.guest)) == 0 {
		return Object{}, false
	}
	return p.snapshot(s), true
}

// unnamedSnapshots returns those of a guest that the set took and no longer names.
// Where a manifest says how many are to be kept, the names of the older ones are
// gone by design.
func (p *planner) unnamedSnapshots(s model.Snapshot, g *model.Guest) []model.SnapshotInfo {
	if slices.ContainsFunc(p.want.Snapshots, func(o model.Snapshot) bool { return o.VM == s.VM && o.Keep > 0 && !o.Deleted }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.Snapshots), func(i model.SnapshotInfo) bool {
		return !ofSet(i, s.Owner) || p.snapshotWanted(i.Name, s.VM)
	})
}

// dropLeftOver plans the end of the snapshots that no manifest names any more.
func (p *planner) dropLeftOver(o *Object, s model.Snapshot, g *model.Guest) {
	last := 0
	for _, i := range p.unnamedSnapshots(s, g) {
		last = o.unsnap(g, i, notNamed, LosesData, last)
	}
	o.Gone = last == 0
}
