package manifest

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Parts is what came of a set in which something may be wrong.
type Parts struct {
	Wanted []Wanted // without what is wrong
	Errors Errors   // each with the object that it is about
}

// Parts translates a set as far as it can: an object that is wrong, or that needs
// one that is, is left out and keeps nobody else from being made so. What belongs
// to a Provider is there even if nobody knows how to reach that.
//
// It is for objects that are looked after for ever, one by one. To let a machine go
// that is being deleted, only its Provider must be there.
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
