package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// finding is where an owner's guest is, or could be made.
type finding struct {
	guest *model.Guest // proved to be the owner's
	free  int          // a VMID that can be taken, when there is no guest
	look  Look         // unsure: these must be read first
	wait  *Wait
	doubt bool // there may be a guest of the owner's, and it isn't certain which one it is
	// claims are guests that say that they are the owner's and don't prove it.
	claims []*model.Guest
}

// nearby is how many candidates beyond the first free one are searched for a
// guest that was made when the earlier ones were taken.
const nearby = 8

// find looks for the guest of an owner. A guest counts as the owner's only
// when its own config says so, see proved.
func (p *planner) find(o model.Owner, fixed int, r model.Range) finding {
	if f, ok := p.found[o]; ok {
		return f
	}
	f := p.search(o, fixed, r)
	p.found[o] = f
	return f
}

func (p *planner) search(o model.Owner, fixed int, r model.Range) finding {
	v, ok := p.vms[o.Key]
	f := p.seek(o, fixed, v.Remembered, r)
	if !ok || f.guest != nil || f.unsure() {
		return f
	}
	if f = p.claimed(o, f); f.unsure() {
		return f
	}
	if wait := p.begun(o, f.free); wait.unsure() {
		return wait
	}
	if fixed == 0 && f.free != 0 && !v.Deleted {
		if former := p.former(o); former.unsure() {
			return former
		}
	}
	return f
}

// seek looks for the guest under the given or stored VMID first, then everywhere.
func (p *planner) seek(o model.Owner, fixed, remembered int, r model.Range) finding {
	switch {
	case fixed != 0:
		f := p.at(o, fixed)
		if f.guest != nil || !f.look.Empty() {
			return f
		}
		// It may have been made before the manifest named this VMID.
		other := p.among(o, r)
		if other.guest != nil || other.unsure() && (!other.doubt || f.wait == nil) {
			return other
		}
		f.claims = other.claims
		return f
	case remembered != 0:
		return p.remembered(o, remembered, r)
	}
	return p.among(o, r)
}

// remembered looks at the VMID that was stored for the owner. It may have somebody else's guest by now.
func (p *planner) remembered(o model.Owner, was int, r model.Range) finding {
	f := p.at(o, was)
	foreign := f.wait != nil && f.wait.Reason == model.WaitForeign
	if f.guest != nil || (!foreign || f.doubt) && f.unsure() {
		return f
	}
	_, taken := p.chosen(was, o)
	other := p.among(o, r)
	if foreign || taken != nil || other.guest != nil || other.unsure() {
		return other
	}
	f.claims = other.claims
	return f
}

// unsure reports whether the owner may have a guest that isn't recognizable yet.
func (f finding) unsure() bool {
	return !f.look.Empty() || f.wait != nil && f.wait.Reason != model.WaitVMID && f.wait.Reason != model.WaitTurn
}

// among looks for a guest whose tag names the owner, then under the owner's
// candidates.
func (p *planner) among(o model.Owner, r model.Range) finding {
	tagged := p.tagged(o, r)
	if tagged.guest != nil || tagged.unsure() {
		return tagged
	}
	named := p.named(o, r)
	if named.guest != nil || !named.look.Empty() {
		return named
	}
	// A guest that proves whose it is counts more than one that may be the owner's.
	doubt := named
	f := finding{claims: slices.Concat(tagged.claims, named.claims)}
	var turn *Wait
	beyond := 0
	for id := range o.Candidates(r) {
		if f.free != 0 || turn != nil {
			if beyond++; beyond > nearby {
				break
			}
		}
		g := p.have.Guests[id]
		switch {
		case g == nil:
			if f.free == 0 && turn == nil {
				f.free, turn = p.chosen(id, o)
			}
		case g.Config == nil:
			if _, _, tagged := model.ParseStateTag(g.Tags); tagged && !unnamed(g) && g.Name != p.nameOf(o) {
				continue // another owner's: no need to look
			}
			p.toRead(&f, g)
		case g.OwnedBy(o):
			return finding{guest: g, claims: f.claims}
		case g.Config.Half:
			f.wait = &Wait{Reason: model.WaitOwner, Text: p.beingMade(g)}
		case doubt.wait == nil:
			doubt = p.doubtful(o, g)
		}
	}
	if f.look.Empty() && doubt.wait != nil {
		return doubt
	}
	if f.wait == nil && f.look.Empty() {
		f.wait = turn
	}
	if f.free == 0 && f.wait == nil && f.look.Empty() {
		f.wait = &Wait{Reason: model.WaitVMID, Text: fmt.Sprintf("no free VMID among this object's candidates in %d–%d", r.First, r.Last)}
	}
	return f
}

// named looks at guests without a tag of ours that have the name of the owner's, or whose names the list doesn't
// show yet: a manifest may have named another VMID when they were made.
func (p *planner) named(o model.Owner, r model.Range) finding {
	var f, doubt finding
	for _, g := range slices.Concat(p.have.Named(p.nameOf(o)), p.nameless()) {
		if g.Template || g.Container || p.anothers(g, o) {
			continue
		}
		switch {
		case p.passedOver(g, o, r):
			p.passed[g.VMID] = true
		case g.Config == nil:
			p.toRead(&f, g)
		case p.proved(g, o, r):
			return finding{guest: g}
		case g.OwnedBy(o):
			f.claims = append(f.claims, g)
		case doubt.wait == nil:
			doubt = p.doubtful(o, g)
		}
	}
	if f.look.Empty() && doubt.wait != nil {
		return doubt
	}
	return f
}

// anothers reports whether tags say that a guest is another owner's. Copies have those of their source until they
// are configured.
func (p *planner) anothers(g *model.Guest, o model.Owner) bool {
	if _, _, tagged := model.ParseStateTag(g.Tags); !tagged {
		return false
	}
	making, placed := p.have.Placed[g.VMID]
	return placed && making.Owner != o || len(p.have.TaggedAs(g)) < 2
}

// nameless returns the guests whose names aren't known yet. Guests that are being created
// have none, so they can't be distinguished.
func (p *planner) nameless() []*model.Guest {
	if p.unnamed == nil {
		p.unnamed = []*model.Guest{}
		for _, g := range p.have.Guests {
			if unnamed(g) && g.Lock == "" {
				p.unnamed = append(p.unnamed, g)
			}
		}
		slices.SortFunc(p.unnamed, func(a, b *model.Guest) int { return a.VMID - b.VMID })
	}
	return p.unnamed
}

// unnamed reports whether the list doesn't show a guest's name: it is late, or shows
// what Proxmox says of guests that have none.
func unnamed(g *model.Guest) bool {
	id, ok := strings.CutPrefix(g.Name, "VM ")
	return g.Name == "" || ok && id == itoa(g.VMID)
}

// nameOf returns the name of an owner's guest. A copy of one of our guests has its source's tags until it
// is configured, so only the name distinguishes them.
func (p *planner) nameOf(o model.Owner) string {
	if v, ok := p.vms[o.Key]; ok {
		return v.Name
	}
	if i := p.images[o.Key]; i.Made() {
		return i.CopyName()
	}
	return o.Name
}

// at looks at a VMID that was chosen before.
func (p *planner) at(o model.Owner, id int) finding {
	g := p.have.Guests[id]
	switch other, reserved := p.fixed[id]; {
	case g == nil && reserved && other != o:
		return finding{wait: &Wait{Reason: model.WaitForeign, Text: fmt.Sprintf("VMID %d is to be that of %s, too; choose another one for either", id, other.Key)}}
	case g == nil:
		return finding{free: id}
	case g.Config == nil && p.upToDate(g, o):
		return finding{guest: g}
	case g.Config == nil:
		var f finding
		p.toRead(&f, g)
		return f
	case g.OwnedBy(o):
		return finding{guest: g}
	case g.Config.Half:
		return finding{wait: &Wait{Reason: model.WaitOwner, Text: p.beingMade(g)}}
	case g.Config.Marker == nil && tagOf(g) == o.ID() && !g.Template:
		return finding{wait: unmarked(o, g), doubt: true}
	}
	if doubt := p.doubtful(o, g); doubt.wait != nil && (p.vms[o.Key].Remembered == id || g.Config.Marker != nil) {
		return doubt
	}
	return finding{wait: taken(o, g)}
}

// tagOf returns the ID of the owner that a guest's tag names.
func tagOf(g *model.Guest) string {
	id, _, _ := model.ParseStateTag(g.Tags)
	return id
}

// tagged looks at the guests whose tag names the owner. Clones copy tags, so
// only the config proves it, except where nothing is to be done anyway.
func (p *planner) tagged(o model.Owner, r model.Range) finding {
	var mine, lost []*model.Guest
	var f finding
	for _, g := range p.have.Tagged(o) {
		switch {
		case p.proved(g, o, r), g.Config == nil && p.owns(o, g.VMID, r) && p.upToDate(g, o):
			mine = append(mine, g)
		case g.Config == nil:
			f.look.Configs = append(f.look.Configs, g.VMID)
		case g.OwnedBy(o):
			f.claims = append(f.claims, g)
		case g.Config.Marker == nil && !g.Config.Half:
			lost = append(lost, g)
		}
	}
	switch {
	case !f.look.Empty():
		return f
	case len(mine) == 1:
		return finding{guest: mine[0], claims: f.claims}
	case len(mine) > 1:
		return p.twins(o, mine)
	}
	for id := range o.Candidates(r) {
		for _, g := range lost {
			if g.VMID == id {
				return finding{wait: unmarked(o, g), doubt: true}
			}
		}
	}
	// Under another VMID, which a manifest may have named, its interfaces tell.
	for _, g := range lost {
		if doubt := p.doubtful(o, g); doubt.wait != nil {
			return doubt
		}
	}
	return f
}
