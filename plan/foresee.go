package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// foresee plans objects that wait for others to be made as if those existed: the same planner works on the
// state that there will be. Foreseen steps are for people to see; they aren't carried out before the wait is
// over and the object is planned anew.
func (p *planner) foresee(out *Plan) {
	for more := true; more && slices.ContainsFunc(out.Objects, awaitsOther); {
		later := newPlanner(p.want, p.expect(*out))
		more = false
		for i, o := range out.Objects {
			if !awaitsOther(o) {
				continue
			}
			switch then := later.once(o.Owner); {
			case !then.Look.Empty():
				out.Objects[i].Look = then.Look
			case then.Wait == nil && len(then.Steps) > 0:
				then.Wait, then.Foreseen = o.Wait, true
				if o.Placed != "" && o.Node == then.Node {
					then.Placed = o.Placed
				}
				out.Objects[i], more = then, true
			case then.Wait != nil && then.Wait.Reason.Blocks():
				// Better known before something large is fetched for it.
				then.Wait.Text = o.Wait.Text + "; after that, " + then.Wait.Text // what can be done is about that
				out.Objects[i].Wait, out.Objects[i].Foreseen = then.Wait, true
			}
		}
	}
}

// awaitsOther reports whether an object waits for another one, and what comes then
// isn't foreseen yet.
func awaitsOther(o Object) bool {
	return o.Wait != nil && (o.Wait.Reason == model.WaitSource || o.Wait.Reason == model.WaitTurn) && len(o.Steps) == 0
}

// once plans a guest or a snapshot.
func (p *planner) once(owner model.Owner) Object {
	if v, ok := p.vms[owner.Key]; ok {
		return p.vm(v)
	}
	for _, s := range p.want.Snapshots {
		if s.Owner == owner {
			return p.snapshot(s)
		}
	}
	return Object{}
}

// expect returns what there will be when a plan is done, as far as it matters to those
// who wait for it: the guests that it makes or starts, and their snapshots.
func (p *planner) expect(all Plan) *model.Observed {
	then := *p.have
	then.Guests, then.Placed, then.Dirs = map[int]*model.Guest{}, map[int]model.Placement{}, maps.Clone(p.have.Dirs)
	maps.Copy(then.Guests, p.have.Guests)
	maps.Copy(then.Placed, p.have.Placed)
	then.Bound = p.bound
	// What is foreseen hangs on what isn't, or on what was foreseen before.
	for left := all.Objects; len(left) > 0; {
		var hanging []Object
		for _, o := range left {
			if c, ok := firstClone(o); ok && then.Guests[c.From.VMID] == nil {
				hanging = append(hanging, o)
				continue
			}
			for _, s := range o.Steps {
				p.expectStep(&then, o, s.Action)
			}
		}
		if len(hanging) == len(left) {
			break
		}
		left = hanging
	}
	then.Index()
	return &then
}

// sharedAs returns the mapping as it will be. Whether the directories exist only the nodes know.
func sharedAs(a model.MakeShare) model.Dir {
	d := model.Dir{Made: true, Paths: map[string]string{}}
	for _, node := range a.Nodes {
		d.Paths[node] = a.Path
	}
	return d
}

func firstClone(o Object) (model.Clone, bool) {
	for _, s := range o.Steps {
		if c, ok := s.Action.(model.Clone); ok {
			return c, true
		}
	}
	return model.Clone{}, false
}

func (p *planner) expectStep(then *model.Observed, o Object, action model.Action) {
	v := p.vms[o.Owner.Key]
	var g *model.Guest
	switch a := action.(type) {
	case model.Create:
		g = madeBy(a)
	case model.Clone:
		g = copyBy(a, then.Guests[a.From.VMID], v)
	case model.MakeShare:
		then.Dirs[a.Name] = sharedAs(a)
		return
	case model.MakeTemplate, model.Migrate, model.Start, model.SetHA, model.Snap:
		g = changedBy(a, then.Guests[a.Guest()])
	}
	if g == nil {
		return
	}
	if then.Guests[g.VMID] == nil {
		g.Memory = o.Memory
		at := o.Placement()
		at.Node, at.Addresses = g.Node, nil
		then.Placed[g.VMID] = at
	}
	then.Guests[g.VMID] = g
}

// madeBy returns the guest that is made from nothing, or from an image file.
func madeBy(a model.Create) *model.Guest {
	g := expected(a.Target, a.Name, a.Description)
	maps.Copy(g.Config.Options, a.Options)
	for _, d := range a.Disks {
		g.Config.Disks = append(g.Config.Disks, expectedDisk(d.Disk, a.VMID))
	}
	return g
}

// copyBy returns the copy of a guest with the disks that it gets then; nil: the source
// isn't known.
func copyBy(a model.Clone, from *model.Guest, v model.VM) *model.Guest {
	if from == nil || from.Config == nil {
		return nil
	}
	g := expected(a.To, a.Name, a.Description)
	maps.Copy(g.Config.Options, from.Config.Options)
	maps.Copy(g.Config.Options, v.Options)
	for _, d := range from.Config.Disks {
		if a.Storage != "" && d.Storage != "" {
			d.Storage = a.Storage
		}
		g.Config.Disks = append(g.Config.Disks, expectedDisk(d, a.To.VMID))
	}
	for _, d := range v.Disks {
		if _, there := g.Config.DiskAt(d.Slot); there || d.Root() {
			continue
		}
		if d.Storage == "" {
			d.Storage = rootStorage(g.Config)
		}
		g.Config.Disks = append(g.Config.Disks, expectedDisk(d, a.To.VMID))
	}
	return g
}

// changedBy returns a guest after an action; nil: there is none.
func changedBy(a model.Action, g *model.Guest) *model.Guest {
	if g == nil {
		return nil
	}
	then := *g
	switch a := a.(type) {
	case model.MakeTemplate:
		then.Template = true
		c := *g.Config
		c.Disks = slices.Clone(c.Disks)
		for i, d := range c.Disks {
			if d.Storage != "" && (a.Disk == "" || a.Disk == d.Slot) {
				c.Disks[i].Volume = fmt.Sprintf("%s:base-%d-%s", d.Storage, g.VMID, d.Slot)
			}
		}
		then.Config = &c
	case model.Migrate:
		then.Node = a.To
	case model.Snap:
		then.Snapshots = append(slices.Clip(g.Snapshots), model.SnapshotInfo{Name: a.Name, Description: a.Description, Memory: a.Memory})
	default:
		then.Status = model.StatusRunning
	}
	return &then
}

func expected(at model.Target, name, description string) *model.Guest {
	c := &model.Config{Options: map[string]string{}}
	if text, m, ok := model.ParseDescription(description); ok {
		c.Text, c.Marker = text, &m
	}
	return &model.Guest{VMID: at.VMID, Node: at.Node, Name: name, Status: model.StatusStopped, Config: c, Snapshots: []model.SnapshotInfo{}}
}

// expectedDisk returns a disk of a new guest: what it is called isn't known, but where it
// is.
func expectedDisk(d model.Disk, vmid int) model.Disk {
	if d.Storage != "" {
		d.Volume = fmt.Sprintf("%s:vm-%d-%s", d.Storage, vmid, d.Slot)
	}
	return d
}
