package plan

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// Whoever may edit a guest's notes can write any marker there. So a marker proves
// whose a guest is in two cases only: the guest has a VMID of the owner's (given in
// the manifest, remembered, or derived from its name), which others can't choose for
// it, or the marker is signed with a key that only we have.

// owns reports whether a VMID is one of the owner's.
func (p *planner) owns(o model.Owner, vmid int, r model.Range) bool {
	v := p.vms[o.Key]
	return vmid == v.VMID || vmid == v.Remembered || o.Derives(vmid, r)
}

// proved reports whether a guest proves to be the owner's.
func (p *planner) proved(g *model.Guest, o model.Owner, r model.Range) bool {
	return g.OwnedBy(o) && (g.Config.Signed.Proves() || p.owns(o, g.VMID, r))
}

// claimed decides about guests whose markers name the owner without proving it, when there is no other
// guest. One of them may be the owner's, made when the manifest named its VMID or when another range held: a
// second guest would have the same addresses. With a key it would be signed.
func (p *planner) claimed(o model.Owner, f finding) finding {
	for _, g := range f.claims {
		if p.have.Keyed && g.Config.Signed != model.OtherKey {
			continue
		}
		return finding{doubt: true, claims: f.claims, wait: &Wait{Reason: model.WaitForeign, Do: model.Advice{Do: model.NameVMID, VMID: g.VMID}, Text: fmt.Sprintf(
			"VM %d on %s says in its notes that it is %s, but %d isn't a VMID of %s's, and whoever may edit the notes can write that",
			g.VMID, g.Node, o.Key, g.VMID, o.Name)}}
	}
	return f
}

// unsigned reports whether the marker has to be signed. A marker that is signed with a key
// that we don't have isn't changed, since a process with that key would sign it again.
func (c *change) unsigned() bool {
	return c.p.have.Keyed && c.have.Signed != model.Signed && c.have.Signed != model.OtherKey
}

// noteOf adds a note about guests whose markers name an object to which they don't belong.
func noteOf(o *Object, f finding) {
	for _, g := range f.claims {
		if f.guest != g && !f.doubt {
			o.note("VM %d on %s says in its notes that it is %s, and doesn't prove it: it is left alone", g.VMID, g.Node, o.Owner.Key)
		}
	}
}

// unproved returns the reason for which a guest that no manifest names isn't removed.
func unproved(g *model.Guest, o model.Owner) Note {
	return Note{Do: model.Advice{Do: model.DeleteGuest, VMID: g.VMID}, Text: fmt.Sprintf("VM %d on %s isn't removed, though its notes say that it is %s of this set: %d isn't a VMID of %s's, and whoever may edit the notes can write that",
		g.VMID, g.Node, o.Key, g.VMID, o.Name)}
}
