package plan

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// A guest that is suspended to disk is off, and has a lock. Proxmox starts it all the same, which resumes it, and changes nothing of it
// before. To take the lock away would lose what the guest had in memory.

// unlocked is a guest without the lock of one that is suspended to disk, if that is to be left out.
func unlocked(g *model.Guest, without bool) *model.Guest {
	if !without {
		return g
	}
	free := *g
	free.Lock = ""
	return &free
}

// wake plans a guest that is suspended to disk. What else is to be changed is planned when it runs.
func (p *planner) wake(o *Object, v model.VM, g *model.Guest) {
	if v.Power == model.PowerOn {
		c := &change{p: p, o: o, v: v, g: g, have: g.Config}
		c.power()
		for i, s := range o.Steps {
			if _, starts := s.Action.(model.Start); starts {
				o.Steps[i].Why = model.WhyWake
			}
		}
		return
	}
	if p.converge(o, v, g); len(o.Steps)+len(o.Refused) == 0 {
		return
	}
	o.Steps, o.Refused = nil, nil
	o.awaitResume(g)
}

// awaitResume makes an object wait until somebody has started its guest, which is suspended to disk.
func (o *Object) awaitResume(g *model.Guest) {
	o.wait(model.WaitLock, fmt.Sprintf("VM %d is suspended to disk, and can't be changed before it is started, which resumes it", g.VMID))
}
