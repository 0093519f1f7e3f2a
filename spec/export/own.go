package export

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// PlanAs plans with a guest as if it was a machine that is wanted.
func PlanAs(want model.Desired, have *model.Observed, g *model.Guest, v model.VM) plan.Object {
	p := plan.For(want, asOwn(have, g, v))
	at := slices.IndexFunc(p.Objects, func(o plan.Object) bool { return o.Owner == v.Owner })
	return p.Objects[at]
}

// asOwn is what there is, with the guest as if it was the machine's.
func asOwn(have *model.Observed, g *model.Guest, v model.VM) *model.Observed {
	mine, config, world := *g, *g.Config, *have
	config.Marker = Marker(v, g)
	config.Marker.VMID = 0 // so that the plan writes it: it isn't there yet
	config.Tags = append(VisibleTags(config.Tags), model.Tag, model.StateTag(v.Owner, "imported"))
	slices.Sort(config.Tags)
	mine.Config, mine.Tags = &config, config.Tags
	world.Guests = maps.Clone(have.Guests)
	world.Guests[g.VMID] = &mine
	world.Index()
	return &world
}

// Marker is the marker of a guest that is adopted as a machine. One that was ours before
// stays what it was.
func Marker(v model.VM, g *model.Guest) *model.Marker {
	was := g.Config.Marker
	m := &model.Marker{Owner: v.Owner, VMID: g.VMID, Adopted: was == nil || was.Adopted}
	m.Retain = v.Keeps(m)
	if was != nil && len(v.Leases) > 0 {
		m.Addresses = was.Addresses
	}
	return m
}

// Changes is how much a plan would change beside our marks, or keeps from being done.
func Changes(o plan.Object) int {
	n := len(o.Refused)
	for _, s := range o.Steps {
		if !OnlyMarks(s.Action) {
			n++
		}
	}
	if o.Wait != nil {
		n++
	}
	return n
}

// OnlyMarks reports whether an action does nothing but put our marks on a guest.
func OnlyMarks(action model.Action) bool {
	a, ok := action.(model.Configure)
	return ok && len(a.Set)+len(a.Delete)+len(a.Disks)+len(a.NICs) == 0
}
