package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Proxmox lists only guests that the credentials may see. That a guest isn't listed
// doesn't prove that it is gone: only a VMID that isn't taken does.

// unseen waits while the VMID that is an object's own is taken by a guest that isn't
// visible, which may be the object's. free is the VMID that a new guest would get; 0:
// none.
func (p *planner) unseen(o *Object, v model.VM, free int) bool {
	ids := []int{free}
	switch {
	case v.Deleted:
		ids = append(ids, v.VMID, v.Remembered, p.firstFree(v.Owner, v.Range))
	case p.makes(o.Owner.Key, free) && v.Remembered == 0:
		return false
	}
	return p.hidden(o, v.Owner, ids...)
}

// makes reports whether a guest can be made under a VMID that seems to be free without
// asking whether it is: Proxmox refuses to make one if not, and then it is asked. People
// who want to see a plan want to know before.
func (p *planner) makes(key model.Key, free int) bool {
	_, failed := p.have.Failed[key]
	_, asked := p.have.IDs[free]
	return !failed && !asked && (!p.want.Foresee || p.want.Unasked[key])
}

// hidden waits while one of an owner's VMIDs is taken by a guest that isn't visible.
func (p *planner) hidden(o *Object, owner model.Owner, ids ...int) bool {
	if p.have.IDs == nil {
		return false
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if id == 0 || p.have.Guests[id] != nil {
			continue
		}
		taken, asked := p.have.IDs[id]
		switch {
		case !asked:
			o.Look.IDs = append(o.Look.IDs, id)
		case taken && slices.ContainsFunc(p.have.Tasks, func(t model.Task) bool { return makes(t.Type) }):
			// Guests get into their pools, by which they are visible, at the end.
			o.wait(model.WaitOwner, fmt.Sprintf("VMID %d of %s is taken by a guest that isn't visible yet, while one is being made", id, owner.Key))
		case taken:
			o.VMID = id
			o.wait(model.WaitUnseen, fmt.Sprintf(
				"VMID %d of %s is taken by a guest that isn't visible with these credentials, so whether it is %s isn't known; grant VM.Audit on /vms/%d",
				id, owner.Key, owner.Name, id))
		}
	}
	if o.Wait != nil {
		o.Look.IDs = nil
	}
	return o.Wait != nil || !o.Look.Empty()
}

// firstFree returns the first of an owner's candidates that no visible guest has; 0: none.
func (p *planner) firstFree(o model.Owner, r model.Range) int {
	for id := range o.Candidates(r) {
		if p.have.Guests[id] == nil {
			return id
		}
	}
	return 0
}
