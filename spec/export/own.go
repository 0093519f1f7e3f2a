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

// Marker is the marker of a guest that is adopted as a machine. One that is the machine's already
// stays as it is, and one that was ours before says that.
func Marker(v model.VM, g *model.Guest) *model.Marker {
	was := g.Config.Marker
	if was != nil && was.Owner == v.Owner && was.VMID == g.VMID {
		m := was.Bare()
		m.Retain = v.Keeps(&m)
		return &m
	}
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

// Marks are what makes a guest the machine's, by the plan as if it was already. Where the machine is wanted
// otherwise than the guest is, or the plan isn't complete since something has to be read first, nothing but the marker and the tags is
// written: the next plan does the rest.
func Marks(o plan.Object, want model.VM, g *model.Guest) (list []model.Configure) {
	c := g.Config
	if Changes(o) == 0 {
		for _, s := range o.Steps {
			if a, ok := s.Action.(model.Configure); ok {
				a.Digest = c.Digest
				list = append(list, a)
			}
		}
	}
	if len(list) > 0 {
		return list
	}
	text := model.Describe(c.Text, *Marker(want, g))
	tags := append(VisibleTags(c.Tags), model.Tag, model.StateTag(want.Owner, "adopted"))
	slices.Sort(tags)
	return []model.Configure{{Target: model.Target{VMID: g.VMID, Node: g.Node}, Digest: c.Digest, Description: &text, Tags: &tags}}
}
