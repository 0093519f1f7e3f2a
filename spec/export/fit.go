package export

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/spec"
)

// There are settings that no spec can say, or not just as they are: an interface
// without a bridge, a disk that isn't on a storage. They are left out, so that they
// stay as they are.

// Of returns a guest as the machine of an owner, in the form with the fewest differences: as a
// linked clone of its template, or as a machine of its own. The guest's config must be known. An
// address within a pool of the networks is described as from the pool. The error, of type
// [spec.Errors], is about guests that no spec can describe.
func Of(have *model.Observed, g *model.Guest, owner model.Owner, networks spec.Networks) (Machine, error) {
	linked, wrong := fit(have, g, owner, networks, true)
	alone, alsoWrong := fit(have, g, owner, networks, false)
	if wrong != nil || alsoWrong == nil && linked.worse(alone) {
		return alone, alsoWrong
	}
	return linked, nil
}

// worse reports whether another spec of the same guest says more.
func (m Machine) worse(o Machine) bool {
	return cmp.Or(cmp.Compare(Changes(m.Object), Changes(o.Object)), cmp.Compare(len(m.Omitted), len(o.Omitted))) > 0
}

// says notes which field is for an option or slot. It reports whether that is to be
// written.
func (w *writer) says(field, key string) bool {
	w.where[field] = key
	_, omitted := w.omit[key]
	return !omitted
}

// fit writes the spec of a guest, again and again, until it says nothing that is
// wrong or would change something, as far as that can be left out.
func fit(have *model.Observed, g *model.Guest, owner model.Owner, networks spec.Networks, linked bool) (Machine, error) {
	omit, cluster := map[string]string{}, &spec.Cluster{Networks: networks}
	for _, d := range g.Config.Disks {
		if d.HoldsData() && d.Storage == "" {
			omit[d.Slot] = "it isn't on a storage"
		}
	}
	for {
		w := &writer{have: have, g: g, networks: networks, linked: linked, omit: maps.Clone(omit), where: map[string]string{}}
		m := Machine{Spec: w.machine(owner), Omitted: w.omit}
		m.Fetched = w.fetched
		var err error
		m.VM, m.Image, err = spec.VM(cluster, m.Spec)
		before := len(omit)
		if err != nil {
			w.find(err, omit)
		} else {
			m.Object = PlanAs(m.desired(), have, g, m.VM)
			avoid(m.Object, m.VM, omit)
		}
		if len(omit) > before {
			continue
		}
		if err == nil {
			m.Lost = w.lost(m.VM)
		}
		return m, err
	}
}

// desired is what is wanted, if it is nothing but the machine.
func (m Machine) desired() model.Desired {
	d := model.Desired{Set: m.VM.Owner.Set, Range: m.VM.Range, VMs: []model.VM{m.VM}}
	if m.Image != nil {
		d.Images = []model.Image{*m.Image}
	}
	return d
}

// find finds what the mistakes in a spec are about.
func (w *writer) find(err error, omit map[string]string) {
	var wrong spec.Errors
	errors.As(err, &wrong)
	for _, e := range wrong {
		for field := e.Field; field != ""; field = above(field) {
			if key, ok := w.where[field]; ok {
				if _, known := omit[key]; !known {
					omit[key] = reason(e)
				}
				break
			}
		}
	}
}

// reason is a mistake in few words: what to do about it isn't of use here.
func reason(e *spec.Error) string {
	text := strings.FieldsFunc(e.Text.String(), func(r rune) bool { return r == ':' || r == ';' })[0]
	return e.Field[strings.LastIndexByte(e.Field, '.')+1:] + " " + text
}

// above is the field that another one is part of.
func above(field string) string {
	return field[:max(strings.LastIndexAny(field, ".["), 0)]
}

// avoid finds what a plan would change.
func avoid(o plan.Object, v model.VM, omit map[string]string) {
	var change func(keys ...string)
	change = func(keys ...string) {
		for _, key := range keys {
			if n, ok := strings.CutPrefix(key, "ipconfig"); ok {
				key = "net" + n
			}
			if key == "nameserver" || key == "searchdomain" { // those of pools
				for _, l := range v.Leases {
					change(l.Slot)
				}
			}
			if _, known := omit[key]; !known && key != "name" {
				omit[key] = "no field says it just so"
			}
		}
	}
	for _, s := range o.Steps {
		switch a := s.Action.(type) {
		case model.Configure:
			change(slices.Collect(maps.Keys(a.Set))...)
			change(a.Delete...)
			for _, d := range a.Disks {
				change(d.Slot)
			}
			for _, n := range a.NICs {
				change(n.Slot)
			}
		case model.Resize:
			change(a.Slot)
		case model.SetHA:
			change("ha")
		case model.SetPool:
			change("pool")
		case model.SetFirewall:
			change("firewall")
		}
	}
}
