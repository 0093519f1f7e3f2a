package export

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// PlanAs plans as if a guest belonged to a wanted machine.
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

// Marker returns the marker of a guest that is adopted as a machine. If the guest belongs to the
// machine already, it is the present one.
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

// Changes counts the steps and refusals of a plan that are about more than our marks.
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

// OnlyMarks reports whether an action does nothing but add our marks to a guest.
func OnlyMarks(action model.Action) bool {
	a, ok := action.(model.Configure)
	return ok && len(a.Set)+len(a.Delete)+len(a.Disks)+len(a.NICs) == 0
}

// Marks returns the change that adds our marks to a guest, from its plan by [PlanAs]. If the wanted machine differs from the guest, or
// the plan isn't complete, only the marker and the tags are written: the next plan does the rest.
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
