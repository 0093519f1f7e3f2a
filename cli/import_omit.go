package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// There are settings that no manifest can say, or not just as they are: an interface
// without a bridge, a disk that isn't on a storage. They are left out, so that they
// stay as they are.

// says notes which field of a manifest is for an option or slot. It tells whether
// that is to be written.
func (w *writer) says(kind, field, key string) bool {
	w.where[kind+" "+field] = key
	_, omitted := w.omit[key]
	return !omitted
}

// unless is the value, unless it is left out.
func (w *writer) unless(key string, value any) any {
	if !w.says("VirtualMachine", "spec."+key, key) {
		return ""
	}
	return value
}

// leftOut says in the manifest's comment what isn't in it.
func (w *writer) leftOut() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(w.omit)) {
		parts = append(parts, fmt.Sprintf("\n- %s: %s", key, w.omit[key]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\nLeft out, and so left as they are:" + strings.Join(parts, "")
}

// fit writes the manifest of a guest, again and again, until it says nothing that is
// wrong or would change something, as far as that can be left out.
func (i *importing) fit(have *model.Observed, g *model.Guest, name string, linked bool) (importedMachine, *documents, error) {
	omit := map[string]string{}
	for _, d := range g.Config.Disks {
		if usable(d) && d.Storage == "" {
			omit[d.Slot] = "it isn't on a storage"
		}
	}
	for {
		w := &writer{docs: newDocuments(), have: have, g: g, name: name, linked: linked, omit: maps.Clone(omit), where: map[string]string{}}
		m, err := i.try(w)
		m.omitted = slices.Sorted(maps.Keys(omit))
		before := len(omit)
		if err != nil {
			w.blame(err, omit)
		} else {
			avoid(m.object, omit)
		}
		if len(omit) == before {
			if err == nil {
				w.sayLost(m.want)
			}
			return m, w.docs, err
		}
	}
}

// sayLost says in the manifest's comment what a machine made anew would be without.
func (w *writer) sayLost(v model.VM) {
	var base *model.Config
	if t := w.have.Guests[w.template]; w.linked && t != nil {
		base = t.Config
	}
	all := lost(v, w.g, base)
	for key := range w.omit {
		delete(all, key) // said already
	}
	for i := range w.docs.list {
		if d := &w.docs.list[i]; d.kind == "VirtualMachine" {
			d.comment += lostText(all)
		}
	}
}

// blame finds what the mistakes in a manifest are about.
func (w *writer) blame(err error, omit map[string]string) {
	var wrong manifest.Errors
	errors.As(err, &wrong)
	for _, e := range wrong {
		for field := e.Field; field != ""; field = above(field) {
			if key, ok := w.where[e.Object.Kind+" "+field]; ok {
				if _, known := omit[key]; !known {
					omit[key] = reason(e)
				}
				break
			}
		}
	}
}

// reason is a mistake in few words: what to do about it isn't of use here.
func reason(e *manifest.Error) string {
	text := strings.FieldsFunc(e.Text, func(r rune) bool { return r == ':' || r == ';' })[0]
	return e.Field[strings.LastIndexByte(e.Field, '.')+1:] + " " + text
}

// above is the field that another one is part of.
func above(field string) string {
	return field[:max(strings.LastIndexAny(field, ".["), 0)]
}

// avoid finds what a plan would change.
func avoid(o plan.Object, omit map[string]string) {
	change := func(keys ...string) {
		for _, key := range keys {
			if n, ok := strings.CutPrefix(key, "ipconfig"); ok {
				key = "net" + n
			}
			if _, known := omit[key]; !known && key != "name" {
				omit[key] = "a manifest can't say it just so"
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
		}
	}
}
