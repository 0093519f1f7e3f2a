package change

import (
	"slices"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/model"
)

// parts are what is wanted of one Proxmox, parted so that no part has two machines with the same
// key: sets may have machines of the same name, and the engine knows the objects of a run by
// their keys.
type parts []*target.Site

// with adds a machine, unless it is there, and returns its part.
func (p *parts) with(v model.VM) *target.Site {
	for _, one := range *p {
		at := slices.IndexFunc(one.Desired.VMs, func(o model.VM) bool { return o.Owner.Key == v.Owner.Key })
		switch {
		case at < 0:
			one.Desired.VMs = append(one.Desired.VMs, v)
			return one
		case same(one.Desired.VMs[at], v):
			return one
		}
	}
	first := (*p)[0]
	next := *first
	next.Desired = model.Desired{Set: v.Owner.Set, Door: v.Owner.Door, Range: first.Desired.Range, VMs: []model.VM{v}}
	if first.Desired.Moves != nil {
		next.Desired.Moves = map[model.Key]model.Move{}
	}
	*p = append(*p, &next)
	return &next
}

// together reports whether all parts are of one Proxmox, which has one plan for people.
func (p parts) together() bool {
	return len(p) > 1 && !slices.ContainsFunc(p, func(c *target.Site) bool { return c.Site != p[0].Site })
}

// same reports whether what is wanted is about a machine: a copy of it may have the same owner.
func same(want, v model.VM) bool {
	return want.Owner == v.Owner && (want.VMID == 0 || want.VMID == v.VMID)
}
