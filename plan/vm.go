package plan

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// vm plans one guest.
func (p *planner) vm(v model.VM) Object {
	o := Object{Owner: v.Owner}
	f := p.find(v.Owner, v.VMID, v.Range)
	noteOf(&o, f)
	if !f.look.Empty() {
		o.Look = f.look
		o.Look.Status = p.stale(f.look.Configs)
		return o
	}
	if f.guest == nil && v.Deleted {
		if g := p.halfReleased(v); g != nil {
			p.finishRelease(&o, g)
			return o
		}
	}
	if f.wait == nil {
		if o.Look = p.namesakes(&o, v); !o.Look.Empty() {
			return o
		}
	}
	if f.guest == nil && p.want.Moves != nil {
		p.unmoved(&o, f)
		return o
	}
	if f.guest == nil {
		p.missing(&o, v, f)
		return o
	}
	g := f.guest
	o.VMID, o.Node = g.VMID, g.Node
	asleep := g.Hibernated() && !v.Deleted && p.want.Moves == nil
	if p.occupied(&o, unlocked(g, asleep), v.Deleted && !v.Keeps(g.Marker())) {
		return o
	}
	if g.Stray && !v.Deleted {
		o.wait(model.WaitForeign, fmt.Sprintf("a process that is older than VM %d runs under its VMID on %s: that of an earlier VM, whose config was removed while it ran; end it with qm stop %[1]d on %[2]s, and apply again", g.VMID, g.Node))
		return o
	}
	if o.Look = p.unread(g); !o.Look.Empty() {
		return o
	}
	if p.want.Moves != nil {
		p.relocate(&o, v, g)
		return o
	}
	if v.Deleted {
		p.remove(&o, v, g)
		return o
	}
	if g.Config == nil {
		return o // the list says that all is as it should be, and that is to be enough
	}
	v, ready := p.keepAddresses(&o, v, g)
	if !ready {
		return o
	}
	v = p.recognise(&o, v, g).At(g.VMID)
	if asleep {
		p.wake(&o, v, g)
		return o
	}
	p.converge(&o, v, g)
	return o
}

// unread returns what the cluster's list doesn't show of a guest: its config, and whether it
// runs right now.
func (p *planner) unread(g *model.Guest) (l Look) {
	if p.want.Quick {
		return l
	}
	if g.Config == nil {
		l.Configs = []int{g.VMID}
	}
	l.Status = p.stale([]int{g.VMID})
	return l
}

// stale returns those of some guests whose power state may be a status round old.
func (p *planner) stale(ids []int) (stale []int) {
	for _, id := range ids {
		if g := p.have.Guests[id]; g != nil && g.StalePower && !g.Template && !g.Container && !p.want.Quick {
			stale = append(stale, id)
		}
	}
	return stale
}

// missing plans a guest that isn't there.
func (p *planner) missing(o *Object, v model.VM, f finding) {
	if p.unseen(o, v, f.free) {
		return
	}
	if f.wait == nil {
		f.wait = p.restoring()
	}
	if v.Deleted || v.Surplus {
		// Somebody else's guest under a VMID that was to be ours is theirs, and nobody
		// needs a VMID any more.
		o.Gone = f.wait == nil || f.wait.Reason == model.WaitForeign && !f.doubt || f.wait.Reason == model.WaitVMID || f.wait.Reason == model.WaitTurn
		if !o.Gone {
			o.Wait = f.wait
		}
		return
	}
	if f.wait != nil {
		o.Wait = f.wait
		return
	}
	if p.backOff(o) {
		return
	}
	p.create(o, v, f.free)
}

// converge plans what a guest needs to be up to date.
func (p *planner) converge(o *Object, v model.VM, g *model.Guest) {
	if p.templated(o, g) {
		return
	}
	c := &change{p: p, o: o, v: v, g: g, have: g.Config}
	if v.Source.Copy && !fresh(g.Config) {
		c.standAlone()
	}
	if c.replace() {
		return
	}
	if c.torn() || p.lacksRoot(o, c.v, g.Config) || c.unhosted() || c.unstartable() || c.unmet() {
		return
	}
	c.noteMade()
	c.lookHA()
	left := c.leaveShares(0)
	seeds, old := c.seed(), c.oldSeeds()
	if !o.Look.Empty() {
		return
	}
	wall := c.firewall()
	config := c.configure(seeds, old, left, wall)
	moved := c.move(config)
	if !o.Look.Empty() {
		return
	}
	grown := c.grow(moved)
	pool := c.pool()
	if !c.running() && !c.seeded(len(seeds) > 0) {
		if g.Status == model.StatusUnknown {
			o.Look.Status = append(o.Look.Status, g.VMID)
		}
		return // the first boot needs what the next plan brings
	}
	if c.migrate(append(seeds, wall, config, grown, pool)...) {
		return // what is left is for the node that it is on then
	}
	ha := c.ha(append(seeds, wall, config, grown)...)
	c.apart()
	c.power(append(seeds, wall, config, grown, ha, pool)...)
}

// templated waits because somebody has made a template of a guest: it can't start, and Proxmox
// makes no guest of a template again. Nothing is done to it, since others may need it.
func (p *planner) templated(o *Object, g *model.Guest) bool {
	if !g.Template {
		return false
	}
	o.wait(model.WaitUnfit, fmt.Sprintf("somebody has made VM %d on %s a template, which can't be started; to keep it, take its tags and the marker in its notes away, else remove it with qm destroy %[1]d on %[2]s: then the machine is made anew", g.VMID, g.Node))
	return true
}

// change is the plan for a guest that is there.
type change struct {
	p    *planner
	o    *Object
	v    model.VM
	g    *model.Guest
	have *model.Config // with a marker, which proves that the guest is the owner's

	slots  map[string]string  // where each wanted disk is, or goes
	volume map[string]string  // of those that are attached again
	unsure map[string]string  // why it isn't certain which volume a wanted disk is
	drive  string             // where the drive with first-boot data is, or goes; empty: not looked for
	diff   []model.Difference // what changes about the configuration
	undone map[string]bool    // options whose pending change this plan takes back
	later  []string           // options because of which it has to be restarted
	alone  bool               // it is a copy that is made, and keeps what it got from its source
	still  []string           // marks of options that stay though no manifest names them
	kept   []string           // marks of what stays ours: removing it was refused, or is still to be done
}

func (c *change) target() model.Target { return model.Target{VMID: c.g.VMID, Node: c.g.Node} }

func (c *change) running() bool {
	return c.g.Status == model.StatusRunning || c.g.Status == model.StatusPaused
}
