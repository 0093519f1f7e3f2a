package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// remove plans the end of a guest.
func (p *planner) remove(o *Object, v model.VM, g *model.Guest) {
	if g.Config == nil {
		o.Look.Configs = []int{g.VMID}
		return
	}
	c := &change{p: p, o: o, v: v, g: g, have: g.Config}
	if v.Keeps(c.have.Marker) {
		c.release(whyKept(v, c.have.Marker))
		return
	}
	if !p.held(o, v) && !p.copied(o, v, g) {
		c.destroy(whyGone(v))
	}
}

// copied makes the removal of a guest wait while a snapshot of it is still to be copied: the copy could never be
// made.
func (p *planner) copied(o *Object, v model.VM, g *model.Guest) bool {
	for _, other := range p.want.VMs {
		if v.LeftOver || other.Deleted || other.Source.VM != v.Owner.Key || other.Source.Snapshot == "" {
			continue
		}
		if g.Snapshots == nil {
			o.Look.Snapshots = append(o.Look.Snapshots, g.VMID)
			return true
		}
		if !slices.ContainsFunc(g.Snapshots, func(i model.SnapshotInfo) bool { return i.Name == other.Source.Snapshot }) {
			continue
		}
		f := p.find(other.Owner, other.VMID, other.Range)
		if !f.look.Empty() {
			o.Look.Add(f.look)
			return true
		}
		if f.guest == nil || f.guest.Lock == "clone" {
			o.wait(model.WaitDependents, fmt.Sprintf("%s is to be copied from its snapshot %s first; it goes when that is made or deleted", other.Owner.Key, other.Source.Snapshot))
			return true
		}
	}
	return false
}

// held makes the removal of a guest wait while a snapshot of it is to be kept.
func (p *planner) held(o *Object, v model.VM) bool {
	for _, s := range p.want.Snapshots {
		if (s.VM == v.Owner.Key || s.VMID != 0 && s.VMID == o.VMID) && !s.Deleted && !s.LeftOver {
			o.wait(model.WaitDependents, fmt.Sprintf("%s is a snapshot of it, which would go with it; it goes when that is deleted", s.Owner.Key))
			return true
		}
	}
	return false
}

// notNamed is why a guest goes that is pruned.
const notNamed = "this set no longer declares it"

// whyGone returns the reason for which a guest is destroyed.
func whyGone(v model.VM) string {
	if v.LeftOver {
		return notNamed
	}
	return ending(v.Owner)
}

// whyKept returns the reason for which the guest of a deleted object stays.
func whyKept(v model.VM, m *model.Marker) string {
	switch {
	case v.LeftOver && m.Retain:
		return model.WhyRetainedUnused
	case v.Released:
		return "it stays in Proxmox and is no longer managed"
	case v.Retain:
		return model.WhyRetained
	}
	return model.WhyAdopted
}

// release takes our marks off a guest that stays.
func (c *change) release(why string) {
	unused := slices.DeleteFunc(c.have.Marker.Seeds(), c.holds)
	cleaned, ok := c.forget(unused, "no drive of the VM holds it", 0)
	if !ok {
		return
	}
	c.o.step(Step{
		Action: model.Release{Target: c.target(), Digest: c.have.Digest, Description: c.have.Text, Tags: visible(c.have.Tags)},
		What:   fmt.Sprintf("release VM %d", c.g.VMID), Why: why, Effect: Live,
	}, cleaned)
}

// powerOff stops a guest before its removal, by a shutdown if that is asked for.
func (c *change) powerOff(why string) Step {
	if c.v.Grace > 0 {
		return Step{
			Action: model.Shutdown{Target: c.target(), Timeout: c.v.Grace, Force: true},
			What:   fmt.Sprintf("shut VM %d down, or stop it after %d s", c.g.VMID, int(c.v.Grace.Seconds())), Why: why, Effect: LosesData,
		}
	}
	return Step{Action: model.Stop{Target: c.target(), Abort: c.p.shutdowns(c.g.VMID)}, What: fmt.Sprintf("stop VM %d", c.g.VMID), Why: why, Effect: LosesData}
}

// unshielded reports whether the manifest of a protected guest says that it isn't to be
// protected any more: by false, or by leaving out what it said before. What somebody has
// protected in Proxmox stays so, and so does what no manifest names any more.
func (c *change) unshielded() bool {
	on, said := c.v.Options["protection"]
	if said {
		return on == ""
	}
	return c.v.Options != nil && c.managed("protection")
}

// destroy stops a guest and removes it with all that was made for it.
func (c *change) destroy(why string) {
	g := c.g
	if c.have.Options["protection"] == "1" && !c.unshielded() {
		c.o.Refused = append(c.o.Refused, Refusal{
			What: fmt.Sprintf("destroy VM %d", g.VMID), Why: "it is protected", Effect: LosesData,
			Allow: model.AllowDelete,
		})
		return
	}
	if g.Status == model.StatusUnknown || g.StalePower {
		c.o.Look.Status = append(c.o.Look.Status, g.VMID) // what runs can't be destroyed
		return
	}
	stop := 0
	if c.have.Options["protection"] == "1" {
		stop = c.o.step(Step{
			Action: model.Configure{Target: c.target(), Digest: c.have.Digest, Delete: []string{"protection"}},
			What:   fmt.Sprintf("configure VM %d", g.VMID), Why: "protection isn't set any more", Diff: one(unset("protection", "1"), Live), Effect: Live,
		})
	}
	if g.HAState != "" {
		stop = c.o.step(Step{Action: model.SetHA{VMID: g.VMID}, What: "take it out of HA", Why: why, Effect: Live}, stop)
	}
	if c.running() {
		stop = c.o.step(c.powerOff(why), stop)
	}
	stop, ok := c.forget(c.have.Marker.Seeds(), "it was made for this VM", stop)
	if !ok {
		return
	}
	stop = c.leaveForGood(why, stop)
	if !c.o.Look.Empty() {
		return
	}
	c.o.step(Step{
		Action: model.Destroy{Target: c.target(), Owner: c.v.Owner, Owned: !c.have.Signed.Proves()},
		What:   fmt.Sprintf("destroy VM %d with its disks", g.VMID), Why: why, Effect: LosesData,
	}, stop)
}
