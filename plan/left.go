package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Disks that tasks of ours have left, see [model.Left]. They are removed by steps of the object whose
// guest had them, before another guest is created under its VMID: afterwards the disks of both couldn't
// be distinguished. Those without a known object are removed by steps of an object of their own.

// clean plans the removal of disks that tasks have left.
func (p *planner) clean(out *Plan) {
	unclean := p.have.Unclean && !p.want.Quick
	if len(p.have.Left) == 0 && !unclean {
		return
	}
	claimed := map[string]bool{}
	for i := range out.Objects {
		p.cleanFor(&out.Objects[i], unclean, claimed)
	}
	rest := Object{Owner: model.Owner{Set: p.want.Set, Key: model.Leftovers}}
	rest.Look.Left = unclean
	p.cleanUp(&rest, slices.DeleteFunc(slices.Clone(p.have.Left), func(l model.Left) bool { return claimed[l.Task] || l.Owner != (model.Owner{}) }))
	if !rest.Ready() || len(rest.Notes) > 0 {
		out.Objects = append(out.Objects, rest)
	}
}

// cleanFor plans the removal of disks that were left of an object's guest, or that are in the way of its new one.
func (p *planner) cleanFor(o *Object, unclean bool, claimed map[string]bool) {
	makes := o.makes()
	var lefts []model.Left
	for _, l := range p.have.Left {
		if l.Owner == o.Owner || l.VMID == makes {
			claimed[l.Task] = true
			lefts = append(lefts, l)
		}
	}
	switch {
	case !o.Look.Empty():
		return // it is looked at first
	case makes != 0 && unclean:
		o.Look.Left = true
		return
	case o.Wait != nil && o.Wait.Reason.Facts().HandsOff:
		return
	}
	p.cleanUp(o, lefts)
}

// makes returns the VMID of the guest that the object's plan makes; 0: it makes none.
func (o *Object) makes() int {
	for _, s := range o.Steps {
		if model.FactsOf(s.Action).Makes {
			return s.Action.Guest()
		}
	}
	return 0
}

// cleanUp plans the removal of leftover disks, before all other steps of an object's plan.
func (p *planner) cleanUp(o *Object, lefts []model.Left) {
	first := Object{Owner: o.Owner}
	for _, l := range lefts {
		switch {
		case l.Found != nil:
			p.removeLeft(&first, l)
		case p.have.At.Before(l.Next):
			first.wait(model.WaitOwner, fmt.Sprintf("whether %s, which Proxmox may have left, is there and somebody uses it can't be read: %s", l, l.Trouble))
		default:
			first.Look.Left = true
		}
	}
	o.Look.Add(first.Look)
	o.Notes = append(o.Notes, first.Notes...)
	if first.Wait == nil && len(first.Steps) == 0 && first.Look.Empty() {
		return
	}
	o.Gone = false
	if p.backOff(o) || first.Wait != nil {
		if o.Wait == nil {
			o.Wait = first.Wait
		}
		o.Steps = nil
		return
	}
	o.precede(first.Steps)
}

// removeLeft plans the removal of those leftover disks that may be removed. A note says where these credentials may
// not remove them.
func (p *planner) removeLeft(o *Object, l model.Left) {
	for _, volume := range l.Removable() {
		path := "/storage/" + model.StorageOf(volume)
		if _, asked := p.have.Rights[path]; !asked {
			o.Look.Rights = append(o.Look.Rights, path)
			continue
		}
		why, effect := whyLeft(l, volume)
		if !p.have.May(path, "Datastore.Allocate") {
			o.note("%s on %s is left: %s, and these credentials lack Datastore.Allocate on %s; remove it with pvesm free", volume, l.Node, why, path)
			continue
		}
		o.step(Step{Action: model.RemoveDisk{Left: l.Only(volume), Volume: volume}, What: "remove " + volume, Why: why, Effect: effect})
	}
}

// removes reports whether a disk was left by a task of ours, and may go.
func (p *planner) removes(volume string) bool {
	return slices.ContainsFunc(p.have.Left, func(l model.Left) bool { return slices.Contains(l.Removable(), volume) })
}

// whyLeft returns how a disk was left, and what its removal means.
func whyLeft(l model.Left, volume string) (why string, e Effect) {
	switch {
	case l.Half() && model.CloudInitVolume(volume):
		return fmt.Sprintf("a copy that failed or an earlier VM %d has left it; Proxmox alone writes into it, and no VM can be made while it is there", l.VMID), Live
	case l.Half():
		return fmt.Sprintf("a copy that failed has left it half made, for VM %d", l.VMID), Live
	case l.Blocks:
		return fmt.Sprintf("an earlier VM %d has left it on %s, and the migration can't get past it", l.VMID, l.Node), Live
	case l.Moved:
		return fmt.Sprintf("Proxmox couldn't remove it when the disk of VM %d was moved", l.VMID), Live
	}
	return fmt.Sprintf("Proxmox couldn't remove it when VM %d was destroyed", l.VMID), LosesData
}

// precede puts steps before those that an object has.
func (o *Object) precede(first []Step) {
	n := len(first)
	var before []int
	for _, s := range first {
		before = append(before, s.N)
	}
	for _, s := range o.Steps {
		s.N += n
		after := slices.Clone(before)
		if len(s.After) > 0 {
			after = nil
			for _, a := range s.After {
				after = append(after, a+n)
			}
		}
		s.After = after
		first = append(first, s)
	}
	o.Steps = first
}
