package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// snapshot plans one snapshot of a guest.
func (p *planner) snapshot(s model.Snapshot) Object {
	o := Object{Owner: s.Owner}
	if s.LeftOver {
		o.LeftOver = s.VM
	}
	goes := s.Deleted || s.LeftOver
	v, ok := p.machineOf(&o, s)
	if !ok {
		o.Gone = goes && o.Look.Empty()
		if o.Gone {
			o.Wait = nil
		}
		return o
	}
	s.VM = v.Owner.Key
	f := p.find(v.Owner, v.VMID, v.Range)
	o.Look = f.look
	switch {
	case !f.look.Empty():
		return o
	case f.guest == nil && goes:
		v.Deleted = true
		o.Gone = !p.unseen(&o, v, f.free)
		return o
	case f.guest == nil && v.Deleted:
		o.wait(model.WaitSource, fmt.Sprintf("%s, which it is to be of, is being deleted and isn't there; delete the snapshot, too", s.VM))
		return o
	case f.guest == nil:
		o.wait(model.WaitSource, fmt.Sprintf("%s isn't there yet", s.VM))
		return o
	}
	g := f.guest
	o.VMID, o.Node = g.VMID, g.Node
	if g.Snapshots == nil {
		o.Look.Snapshots = []int{g.VMID}
		return o
	}
	if !goes && p.doomed(&o, s.VM) {
		return o
	}
	if p.unready[s.VM] && p.touches(s, g) {
		o.wait(model.WaitSource, fmt.Sprintf("%s isn't ready yet", s.VM))
		return o
	}
	if p.busy(&o, g) {
		return o
	}
	p.snapshotOf(&o, s, v, g)
	return o
}

// machineOf returns the machine that a snapshot is of; false: the object says why that isn't known.
func (p *planner) machineOf(o *Object, s model.Snapshot) (model.VM, bool) {
	if s.VMID == 0 {
		v, ok := p.vms[s.VM]
		if !ok {
			o.wait(model.WaitSource, fmt.Sprintf("%s, which it is to be of, isn't declared", s.VM))
		}
		return v, ok
	}
	g := p.have.Guests[s.VMID]
	switch {
	case g == nil:
		o.wait(model.WaitMissing, fmt.Sprintf("there is no VM %d, which it is to be of", s.VMID))
		return model.VM{}, false
	case g.Config == nil:
		o.Look.Configs = []int{s.VMID}
		return model.VM{}, false
	}
	m := g.Marker()
	if m == nil || m.Owner.Door != s.Owner.Door || m.Owner.Set != s.Owner.Set {
		o.wait(model.WaitForeign, fmt.Sprintf("VM %d, which it is to be of, isn't a machine of set %s", s.VMID, s.Owner.Set))
		return model.VM{}, false
	}
	if v, ok := p.vms[m.Owner.Key]; ok && v.Owner == m.Owner {
		return v, true
	}
	return model.VM{Owner: m.Owner, VMID: s.VMID, Range: p.want.Range}, true
}

// fate returns whether a guest stays, as far as its plan knows that already.
type fate struct {
	goes bool
	look Look // what has to be read before that is known
}

func fateOf(o Object) fate {
	l := o.Look
	l.Agents, l.Ready = nil, nil // an agent has no say in it
	return fate{look: l, goes: slices.ContainsFunc(o.Steps, func(s Step) bool {
		return model.FactsOf(s.Action).Destroys
	})}
}

// doomed reports whether the snapshots of a guest go with it, or that isn't known yet:
// they are no proof then that a snapshot of the guest to come has been taken.
func (p *planner) doomed(o *Object, vm model.Key) bool {
	switch f := p.fates[vm]; {
	case !f.look.Empty():
		o.Look.Add(f.look)
		return true
	case f.goes:
		o.wait(model.WaitSource, fmt.Sprintf("%s is made anew first", vm))
		return true
	}
	return false
}

// touches reports whether something is to be done with the guest itself: it is to
// be up to date before that.
func (p *planner) touches(s model.Snapshot, g *model.Guest) bool {
	i := slices.IndexFunc(g.Snapshots, func(i model.SnapshotInfo) bool { return i.Name == s.Name })
	switch {
	case s.Deleted, s.LeftOver:
		return false
	case i < 0:
		return true
	case s.Revert == "":
		return false
	}
	_, m, _ := model.ParseDescription(g.Snapshots[i].Description)
	return m.Version != s.Revert
}

func (p *planner) snapshotOf(o *Object, s model.Snapshot, v model.VM, g *model.Guest) {
	target := model.Target{VMID: g.VMID, Node: g.Node}
	i := slices.IndexFunc(g.Snapshots, func(i model.SnapshotInfo) bool { return i.Name == s.Name })
	switch {
	case s.LeftOver:
		p.dropLeftOver(o, s, g)
	case s.Deleted && i < 0:
		o.Gone = true
	case s.Deleted && !snapshotOurs(g.Snapshots[i], s.Owner):
		o.Gone = true // somebody else's of the same name stays
	case s.Deleted:
		o.unsnap(g, g.Snapshots[i], ending(s.Owner), LosesData, 0)
	case i < 0 && v.Power == model.PowerOn && g.Status != model.StatusRunning && s.Memory:
		o.wait(model.WaitPending, fmt.Sprintf("VM %d must run for a snapshot with memory", g.VMID))
	case i < 0:
		// Going back to what is taken now would lead nowhere: the guest, or the
		// snapshot that the revert was about, has been made anew.
		note := model.Marker{Owner: s.Owner, Version: s.Revert}
		o.step(Step{
			Action: model.Snap{Target: target, Name: s.Name, Description: model.Describe(s.Description, note), Memory: s.Memory},
			What:   fmt.Sprintf("take snapshot %s of VM %d", s.Name, g.VMID), Why: absent(s.Owner), Effect: New,
		})
	case formerly(g.Snapshots[i], s.Owner) != model.Owner{}:
		do := model.Advice{Do: model.TakeOverSnap, Owner: s.Owner, Former: formerly(g.Snapshots[i], s.Owner)}
		o.advise(model.WaitForeign, fmt.Sprintf("snapshot %q of VM %d was taken for another object of this name, which is gone", s.Name, g.VMID), do)
	case !snapshotOurs(g.Snapshots[i], s.Owner):
		o.wait(model.WaitForeign, fmt.Sprintf("VM %d has a snapshot %q that isn't ours; choose another name", g.VMID, s.Name))
	default:
		noteTaken(o, s, g.Snapshots[i])
		p.revert(o, s, v, g, g.Snapshots[i])
		p.keep(o, s, g)
	}
}

// noteTaken adds notes about wanted settings of a snapshot that have changed since it was taken.
func noteTaken(o *Object, s model.Snapshot, have model.SnapshotInfo) {
	how := map[bool]string{true: "with", false: "without"}
	if s.Memory != have.Memory {
		o.note("it was taken %s the memory of the machine and stays so; delete it and apply again for one %s", how[have.Memory], how[s.Memory])
	}
	if text, _, _ := model.ParseDescription(have.Description); strings.TrimSpace(text) != strings.TrimSpace(s.Description) {
		o.note("its description stays as it was when it was taken")
	}
}

// snapshotOurs reports whether a snapshot's description says that it is the
// owner's.
func snapshotOurs(i model.SnapshotInfo, o model.Owner) bool {
	_, m, ok := model.ParseDescription(i.Description)
	return ok && m.Owner == o
}

// formerly returns the object that a snapshot was taken for, if that had the name of the
// owner and is gone.
func formerly(i model.SnapshotInfo, o model.Owner) model.Owner {
	if _, m, ok := model.ParseDescription(i.Description); ok && replaced(m.Owner, o) {
		return m.Owner
	}
	return model.Owner{}
}

// ofSet reports whether a snapshot's description says that the same set took it as
// the owner's.
func ofSet(i model.SnapshotInfo, o model.Owner) bool {
	_, m, ok := model.ParseDescription(i.Description)
	return ok && m.Owner.Door == o.Door && m.Owner.Set == o.Set
}

// revert goes back to the snapshot, once for each value of the field.
func (p *planner) revert(o *Object, s model.Snapshot, v model.VM, g *model.Guest, info model.SnapshotInfo) {
	if s.Revert == "" {
		return
	}
	text, m, _ := model.ParseDescription(info.Description)
	if m.Version == s.Revert {
		return
	}
	why := "revert is " + s.Revert
	if !guard(o, p.allows(v), LosesData, fmt.Sprintf("roll VM %d back to %s", g.VMID, s.Name), why) {
		return
	}
	m.Version = s.Revert
	o.step(Step{
		Action: model.Rollback{Target: model.Target{VMID: g.VMID, Node: g.Node}, Name: s.Name, Note: model.Describe(text, m)},
		What:   fmt.Sprintf("roll VM %d back to %s", g.VMID, s.Name), Why: why, Effect: LosesData,
	})
}

// keep deletes the oldest of our snapshots of a guest, beyond the newest n.
func (p *planner) keep(o *Object, s model.Snapshot, g *model.Guest) {
	if s.Keep <= 0 {
		return
	}
	var mine []model.SnapshotInfo
	for _, i := range g.Snapshots {
		if _, m, _ := model.ParseDescription(i.Description); ofSet(i, s.Owner) && m.Owner.Kind == s.Owner.Kind { // those of other kinds are counted by nobody
			mine = append(mine, i)
		}
	}
	slices.SortFunc(mine, func(a, b model.SnapshotInfo) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(ancestors(g, b), ancestors(g, a)), cmp.Compare(a.Name, b.Name))
	})
	last := 0
	for _, old := range mine[min(s.Keep, len(mine)):] {
		if !p.snapshotWanted(old.Name, s.VM) {
			last = o.unsnap(g, old, fmt.Sprintf("only the newest %d are kept", s.Keep), Live, last)
		}
	}
}

// unsnap plans the end of a snapshot of ours: one after the other, since each
// locks the guest.
func (o *Object) unsnap(g *model.Guest, i model.SnapshotInfo, why string, e Effect, after int) int {
	_, m, _ := model.ParseDescription(i.Description)
	return o.step(Step{
		Action: model.Unsnap{Target: model.Target{VMID: g.VMID, Node: g.Node}, Name: i.Name, Owner: m.Owner},
		What:   "delete snapshot " + i.Name, Why: why, Effect: e,
	}, after)
}

// ancestors counts the snapshots that another one was taken after. Of two that
// were taken within one second, it shows which is newer.
func ancestors(g *model.Guest, s model.SnapshotInfo) int {
	parents := make(map[string]string, len(g.Snapshots))
	for _, i := range g.Snapshots {
		parents[i.Name] = i.Parent
	}
	n := 0
	for name := s.Parent; name != "" && n < len(parents); name = parents[name] {
		n++
	}
	return n
}

// snapshotWanted reports whether a manifest names the snapshot, or a guest that is
// made from it: then it stays.
func (p *planner) snapshotWanted(name string, vm model.Key) bool {
	return slices.ContainsFunc(p.want.Snapshots, func(s model.Snapshot) bool {
		return s.Name == name && s.VM == vm && !s.Deleted
	}) || slices.ContainsFunc(p.want.VMs, func(v model.VM) bool {
		return v.Source.VM == vm && v.Source.Snapshot == name && !v.Deleted
	})
}
