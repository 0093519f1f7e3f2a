package plan

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// Proxmox notes the options of a request one by one before it applies any of them. A release that it
// refuses in between leaves a guest whose notes lose our marker at the next start, or with the next
// change, while its tags stay. Until then the marker that the guest still has proves whose it is. That
// is enough to finish the release, and for nothing else: somebody wants the guest to be let go.

// letGo reports whether a guest is the owner's until a pending change takes its marker away.
func (p *planner) letGo(g *model.Guest, o model.Owner, r model.Range) bool {
	if g.Config == nil || g.Config.Marker != nil || g.Config.Running == nil {
		return false
	}
	was := &model.Guest{VMID: g.VMID, Config: g.Config.Running}
	return p.proved(was, o, r)
}

// leavingMarker returns the marker of this set that a pending change takes away from a guest; nil: there is none.
func (p *planner) leavingMarker(g *model.Guest) *model.Marker {
	if g.Config.Running == nil || g.Config.Running.Marker == nil || !p.letGo(g, g.Config.Running.Marker.Owner, p.want.Range) {
		return nil
	}
	return g.Config.Running.Marker
}

// halfReleased returns the guest of a deleted object whose release stopped in the middle; nil: there is none.
func (p *planner) halfReleased(v model.VM) *model.Guest {
	if p.leaving == nil {
		p.leaving = map[model.Owner]*model.Guest{}
		for _, g := range p.have.Guests {
			if g.Config != nil && g.Config.Running != nil && g.Config.Running.Marker != nil {
				p.leaving[g.Config.Running.Marker.Owner] = g
			}
		}
	}
	if g := p.leaving[v.Owner]; g != nil && p.letGo(g, v.Owner, v.Range) {
		return g
	}
	return nil
}

// finishRelease plans the rest of a release that stopped in the middle.
func (p *planner) finishRelease(o *Object, g *model.Guest) {
	o.VMID, o.Node = g.VMID, g.Node
	if p.busy(o, g) {
		return
	}
	c := &change{p: p, o: o, g: g, have: g.Config}
	o.step(Step{
		Action: model.Release{Target: c.target(), Digest: c.have.Digest, Description: c.have.Text, Tags: visible(c.have.Tags)},
		What:   fmt.Sprintf("release VM %d", g.VMID), Why: "its release has stopped in the middle", Effect: Live,
	})
}
