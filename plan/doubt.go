package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Guests of which it isn't certain whose they are, or which are somebody else's: they are
// waited for, and nothing is done to them.

// beingMade makes an object wait since a guest has no description yet, or none any more. If no task is seen that
// would write or remove one, the guest may be half made; but lists of tasks are stale.
func (p *planner) beingMade(g *model.Guest) string {
	text, left := "is being made and doesn't say yet whose it is", "it was left half made: remove it"
	works := func(t model.Task) bool { return makes(t.Type) }
	if g.Lock == "destroyed" {
		text, left = "is being destroyed and doesn't say any more whose it was", "it was left half destroyed: remove the rest"
		works = func(t model.Task) bool { return t.Type == "qmdestroy" && t.VMID == g.VMID }
	}
	text = fmt.Sprintf("VM %d on %s %s", g.VMID, g.Node, text)
	if !slices.ContainsFunc(p.have.Tasks, works) {
		text += fmt.Sprintf("; if that doesn't end, %s with qm unlock %d and qm destroy %d on %s", left, g.VMID, g.VMID, g.Node)
	}
	return text
}

// begun looks at the VMID under which this process has begun to make the owner's guest, if another VMID is wanted
// by now. Until the guest is made, nothing in Proxmox names its owner.
func (p *planner) begun(o model.Owner, free int) finding {
	was := p.have.Begun[o]
	id := was.VMID
	g := p.have.Guests[id]
	switch {
	case id == 0 || id == free:
		return finding{}
	case g == nil:
		// Lists show it late.
		if p.runs(was.Task) {
			return finding{wait: &Wait{Reason: model.WaitOwner, Text: fmt.Sprintf("VM %d is being made, and may be that of %s", id, o.Key)}}
		}
	case g.Config == nil && unnamed(g):
		return finding{look: Look{Configs: []int{id}}}
	case g.Config != nil && g.Config.Half:
		return finding{wait: &Wait{Reason: model.WaitOwner, Text: p.beingMade(g)}}
	}
	return finding{}
}

// restoring makes an object wait while any backup is restored over a guest: until the restore has ended, nothing
// names the owner, not even the VMID if a manifest named another one before. Restores are rare enough
// to wait for each.
func (p *planner) restoring() *Wait {
	if g := p.unlisted(); g != nil {
		return &Wait{Reason: model.WaitOwner, Text: p.beingMade(g)}
	}
	for _, t := range p.have.Tasks {
		if g := p.have.Guests[t.VMID]; t.Type == "qmrestore" && g != nil && (g.Config == nil || g.Config.Half) {
			return &Wait{Reason: model.WaitOwner, Text: fmt.Sprintf("VM %d on %s is being restored and doesn't say yet whose it is", g.VMID, g.Node)}
		}
	}
	return nil
}

// unlisted returns a guest whose creation or restore was observed after the lists were requested: they can't
// show its task yet, so it isn't known which of the two it is.
func (p *planner) unlisted() *model.Guest {
	if p.half != nil {
		return *p.half
	}
	var first *model.Guest
	for id, g := range p.have.Guests {
		if g.Ahead && g.Lock == "create" && g.Config.Half && len(p.have.TasksOf(id)) == 0 && (first == nil || id < first.VMID) {
			first = g
		}
	}
	p.half = &first
	return first
}

// makes reports whether tasks of that type make guests.
func makes(task string) bool {
	switch task {
	case "qmclone", "qmcreate", "qmrestore", "qmigrate":
		return true
	}
	return false
}

// taken makes an object wait because its VMID has another guest: somebody else's, or another machine of ours.
func taken(o model.Owner, g *model.Guest) *Wait {
	if g.Config.Marker != nil {
		whose := g.Config.Marker.Owner.Key.String()
		if set := g.Config.Marker.Owner.Set; set != o.Set {
			whose += fmt.Sprintf(" of the set %s", set)
		}
		return &Wait{Reason: model.WaitForeign, Text: fmt.Sprintf("VMID %d is taken by %q on %s, which is proxplane's own: %s; choose another VMID, or delete that machine first", g.VMID, g.Name, g.Node, whose)}
	}
	w := &Wait{Reason: model.WaitForeign, Text: fmt.Sprintf("VMID %d is taken by %q on %s, which isn't ours", g.VMID, g.Name, g.Node)}
	if g.Template || g.Container { // which aren't adopted
		w.Text += "; choose another VMID"
	} else {
		w.Do = model.Advice{Do: model.ImportGuest, VMID: g.VMID}
	}
	return w
}

// unmarked makes an object wait because of a guest that has its VMID and its tag, but not its marker. A second
// guest beside it would have the same addresses.
func unmarked(o model.Owner, g *model.Guest) *Wait {
	return &Wait{Reason: model.WaitForeign, Do: proof(o, g), Text: fmt.Sprintf(
		"VM %d on %s has the tag of %s, but somebody has taken the line that proves it out of its notes. If it isn't %s any more, take the tag %s… away",
		g.VMID, g.Node, o.Key, o.Name, model.TagPrefix+o.ID())}
}

// doubtful makes an object wait because of a guest that may be the owner's though it doesn't prove it; an empty
// finding: it is somebody else's. Its name is a sign only under the VMID that was stored for the owner:
// others use the same names, and VMIDs are reused.
func (p *planner) doubtful(o model.Owner, g *model.Guest) finding {
	v := p.vms[o.Key]
	if g.Config == nil || g.Template || g.Container || v.Deleted {
		return finding{} // one that is let go has lost its marks, and none is destroyed without them
	}
	if m := g.Config.Marker; m != nil {
		if m.Owner.UID == o.UID && replaced(m.Owner, o) {
			return finding{wait: p.formerWait(o, m.Owner, g), doubt: true}
		}
		return finding{}
	}
	mac, same := sharedMAC(v.NICs, g.Config.NICs)
	why := "the MAC address " + mac
	switch {
	case same:
	case v.Remembered == g.VMID && g.Name == p.nameOf(o):
		why = "the name and the VMID"
	default:
		return finding{}
	}
	return finding{doubt: true, wait: &Wait{Reason: model.WaitForeign, Do: proof(o, g), Text: fmt.Sprintf(
		"VM %d on %s has %s of %s, but its notes and tags don't prove that it is this machine: somebody has overwritten them, or it was let go. If it is another machine, rename it and give it another MAC address",
		g.VMID, g.Node, why, o.Key)}}
}

// sharedMAC returns a MAC address that interfaces of two guests have.
func sharedMAC(a, b []model.NIC) (string, bool) {
	for _, one := range a {
		for _, other := range b {
			if one.MAC != "" && strings.EqualFold(one.MAC, other.MAC) {
				return one.MAC, true
			}
		}
	}
	return "", false
}

// proof returns advice on how to restore the proof of a guest's owner.
func proof(o model.Owner, g *model.Guest) model.Advice {
	return model.Advice{Do: model.ProveGuest, VMID: g.VMID, Owner: o}
}

// twins: two guests claim to be the same object. Nothing is done to either.
func (p *planner) twins(o model.Owner, mine []*model.Guest) finding {
	var unread []int
	var proved []*model.Guest
	for _, g := range mine {
		if g.Config == nil {
			unread = append(unread, g.VMID)
		} else {
			proved = append(proved, g)
		}
	}
	if len(unread) > 0 {
		return finding{look: Look{Configs: unread}}
	}
	return finding{doubt: true, wait: &Wait{Reason: model.WaitForeign, Text: fmt.Sprintf("VMs %d and %d both say that they are %s; remove the marker from the notes of the one that isn't", proved[0].VMID, proved[1].VMID, o.Key)}}
}
