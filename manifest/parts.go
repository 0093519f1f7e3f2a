package manifest

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Parts is the translation of a set that may have errors.
type Parts struct {
	Wanted []Wanted // without objects that have errors
	Errors Errors   // each with its object
}

// Parts translates a set as far as possible: an object with an error, or that depends on
// such an object, is left out and doesn't affect others. The objects of a Provider are
// included even if its connection isn't known.
//
// It is for the continuous reconciliation of objects, one by one. To delete a machine, only
// its Provider must exist.
func (s *Set) Parts(options Options) Parts {
	t := newTranslator(s, options)
	t.wrong = &wrong{objects: map[model.Key]bool{}}
	t.translate()
	for _, p := range t.providers {
		d := &p.wanted.Desired
		d.VMs = slices.DeleteFunc(d.VMs, func(v model.VM) bool { return !v.Deleted && t.isWrong(v.Owner.Key) })
		d.Images = slices.DeleteFunc(d.Images, func(i model.Image) bool { return !i.Deleted && t.isWrong(i.Owner.Key) })
		d.Snapshots = slices.DeleteFunc(d.Snapshots, func(s model.Snapshot) bool { return t.isWrong(s.Owner.Key) })
	}
	return Parts{Wanted: t.wanted(), Errors: t.errs}
}

// wrong are the objects that something is wrong with.
type wrong struct {
	objects map[model.Key]bool
	seen    int // errors that were looked at
}

// forget takes back that something is wrong with an object, with all errors from a
// number on.
func (w *wrong) forget(key model.Key, from int) {
	delete(w.objects, key)
	w.seen = min(w.seen, from)
}

// isWrong reports whether something is wrong with an object, where that matters to
// others.
func (t *translator) isWrong(key model.Key) bool {
	if t.wrong == nil {
		return false
	}
	for _, e := range t.errs[t.wrong.seen:] {
		t.wrong.objects[e.Object] = true
	}
	t.wrong.seen = len(t.errs)
	if o := t.set.index[key]; o != nil {
		key = o.written().key
	}
	return t.wrong.objects[key]
}
