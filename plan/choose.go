package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// chosen takes the owner's first free candidate. If another object is about to be made under it, the
// owner waits and doesn't take the next one: only this process knows of that object, so another
// process would choose differently, and both would make the same guest under different VMIDs. Once Proxmox
// has begun, every process sees that the VMID is taken.
func (p *planner) chosen(id int, o model.Owner) (free int, turn *Wait) {
	if other, reserved := p.fixed[id]; reserved && other != o {
		return 0, nil // its manifest says so, which everybody can see
	}
	pl, ok := p.placed[id]
	if !ok {
		pl, ok = p.have.Placed[id]
	}
	switch {
	case !ok && p.goesOn(id, o):
		return 0, nil
	case !ok || pl.Owner == o:
		return id, nil
	case pl.Begun:
		return 0, nil
	}
	return 0, &Wait{Reason: model.WaitTurn, Text: fmt.Sprintf("%s is being made under VMID %d, which this one would take, too; it takes another when that has begun", pl.Owner.Key, id)}
}

// goesOn reports whether a task that an earlier run has begun still makes another owner's guest under a VMID.
func (p *planner) goesOn(id int, o model.Owner) bool {
	for owner, was := range p.have.Begun {
		if was.VMID == id && owner != o && p.runs(was.Task) {
			return true
		}
	}
	return false
}

// runs reports whether a task is seen running.
func (p *planner) runs(upid string) bool {
	return slices.ContainsFunc(p.have.Tasks, func(t model.Task) bool { return t.UPID == upid && t.Ended.IsZero() })
}
