package plan

import (
	"fmt"
	"slices"

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
	if f.wait == nil {
		if o.Look = p.namesakes(&o, v); !o.Look.Empty() {
			return o
		}
	}
	if f.guest == nil {
		p.missing(&o, v, f)
		return o
	}
	g := f.guest
	o.VMID, o.Node = g.VMID, g.Node
	if p.occupied(&o, g, v.Deleted && !v.Keeps(g.Marker())) {
		return o
	}
	if g.Stray && !v.Deleted {
		o.wait(model.WaitForeign, fmt.Sprintf("a process that is older than VM %d runs under its VMID on %s: that of an earlier VM, whose config was removed while it ran; end it with qm stop %[1]d on %[2]s, and apply again", g.VMID, g.Node))
		return o
	}
	if o.Look = p.unread(g); !o.Look.Empty() {
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
	p.converge(&o, p.recognise(&o, v, g).At(g.VMID), g)
	return o
}

// unread is what the cluster's list can't tell of a guest: its config, and whether it
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

// stale are those of some guests whose power state may be a status round old.
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
	if v.Deleted {
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

// busy waits while a guest can't be touched: its node is away, a task works
// on it, a lock says that somebody does.
func (p *planner) busy(o *Object, g *model.Guest) bool { return p.occupied(o, g, false) }

// occupied is the same of a guest that may be going: then nobody waits for it to shut down.
func (p *planner) occupied(o *Object, g *model.Guest, going bool) bool {
	if n := p.have.Nodes[g.Node]; n == nil || !n.Online {
		o.wait(model.WaitNode, fmt.Sprintf("node %s, which has VM %d, is offline", g.Node, g.VMID))
		return true
	}
	for _, t := range p.have.TasksOf(g.VMID) {
		if blocks(t.Type) && !(going && shutsDown(t.Type)) {
			o.Wait = &Wait{Reason: model.WaitTask, Text: fmt.Sprintf("%s of VM %d is running", taskName(t.Type), g.VMID), Task: t.UPID}
			return true
		}
	}
	if g.Lock != "" {
		o.wait(model.WaitLock, fmt.Sprintf("VM %d is locked (%s); if no task works on it, qm unlock %d on %s takes the lock away", g.VMID, g.Lock, g.VMID, g.Node))
		return true
	}
	return p.backOff(o)
}

// shutsDown reports whether tasks of that type wait for a guest to shut down.
func shutsDown(task string) bool { return task == "qmshutdown" || task == "qmreboot" }

// shutdowns are the tasks that wait for a guest to shut down.
func (p *planner) shutdowns(vmid int) []string {
	var tasks []string
	for _, t := range p.have.TasksOf(vmid) {
		if shutsDown(t.Type) {
			tasks = append(tasks, t.UPID)
		}
	}
	return tasks
}

// backOff waits after a failure, before the same is tried again.
func (p *planner) backOff(o *Object) bool {
	fail, ok := p.have.Failed[o.Owner.Key]
	if !ok || fail.Again(p.have) {
		return false
	}
	o.advise(model.WaitFailed, fmt.Sprintf("%s failed: %s", fail.What, fail.Text), fail.Hint)
	return true
}

// blocks reports whether a task of that type keeps others from a guest. Clones
// are filed under their source, which goes on being usable.
func blocks(task string) bool {
	switch task {
	case "qmclone", "vncproxy", "vncshell", "spiceproxy", "imgcopy", "download":
		return false
	}
	return true
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
	config := c.configure(seeds, old, left)
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
	if c.migrate(append(seeds, config, grown, pool)...) {
		return // what is left is for the node that it is on then
	}
	ha := c.ha(append(seeds, config, grown)...)
	c.apart()
	c.power(append(seeds, config, grown, ha, pool)...)
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

// replace destroys a guest that can't become what the manifest asks for now, if
// that is allowed and a new one can be made: the next plan makes it.
func (c *change) replace() bool {
	why, diff := c.unlike()
	if why == "" {
		if why, diff = c.otherImage(); why == "" {
			return false
		}
		if !c.p.allows(c.v).Replace {
			c.o.Notes = append(c.o.Notes, Note{Text: why + ", which is for new machines", Do: model.Advice{Do: model.RenewGuest}})
			return false
		}
	}
	if !guard(c.o, c.p.allows(c.v), Replace, fmt.Sprintf("replace VM %d", c.g.VMID), why, diff) {
		c.keepSeed()
		return false
	}
	_, _, wait, look := c.p.sources(c.v)
	if wait == nil && look.Empty() {
		var o Object
		c.p.unmet(&o, c.v)
		wait, look = o.Wait, o.Look
	}
	if other := c.p.have.Guests[c.v.VMID]; wait == nil && other != nil && other.VMID != c.g.VMID {
		wait = taken(c.v.Owner, other)
	}
	switch {
	case !look.Empty():
		c.o.Look = look
		return true
	case wait != nil:
		c.keepSeed()
		c.o.advise(wait.Reason, "it is to be made anew, since "+why+", but "+wait.Text, wait.Do)
		return false
	}
	if c.p.copied(c.o, c.v, c.g) {
		return true
	}
	c.destroy(why)
	for i := range c.o.Steps {
		c.o.Steps[i].Effect, c.o.Steps[i].Diff = Replace, one(diff, Replace)
	}
	return true
}

// unlike says why the guest can't become what is wanted; empty: it can.
func (c *change) unlike() (why string, diff model.Difference) {
	was, is := c.have.Marker.Source, c.v.Source.Name()
	switch {
	case !c.v.Source.Copy && was != "" && is != "" && was != is:
		return fmt.Sprintf("it was made from %s, not from %s", was, is), differs(model.FieldSource, was, is)
	case c.v.VMID != 0 && c.v.VMID != c.g.VMID:
		return fmt.Sprintf("its VMID is %d, not %d", c.g.VMID, c.v.VMID), differs(model.FieldVMID, itoa(c.g.VMID), itoa(c.v.VMID))
	case c.v.Seed != nil && c.v.Seed.Once && !c.v.Seed.Lost && !c.seedKnown():
		return "its Ignition config is another one, and is read at the first boot only", differs(model.FieldFirstBoot, "", "")
	}
	return "", diff
}

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

// copied waits while a snapshot of a guest that is to go is still to be copied: the copy could
// never be made.
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

// held waits while somebody wants to keep a snapshot of a guest that is to go.
func (p *planner) held(o *Object, v model.VM) bool {
	for _, s := range p.want.Snapshots {
		if s.VM == v.Owner.Key && !s.Deleted && !s.LeftOver {
			o.wait(model.WaitDependents, fmt.Sprintf("%s is a snapshot of it, which would go with it; it goes when that is deleted", s.Owner.Key))
			return true
		}
	}
	return false
}

// notNamed is why a guest goes that is pruned.
const notNamed = "no manifest of this set names it"

// whyGone says why a guest is destroyed.
func whyGone(v model.VM) string {
	if v.LeftOver {
		return notNamed
	}
	return ending(v.Owner)
}

// whyKept says why a guest stays that is deleted.
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

// powerOff stops a guest that is to go. It may take some time to shut down, if that is
// asked for.
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
