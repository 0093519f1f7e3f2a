package spec

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Error is one error in the wanted state.
type Error struct {
	Object model.Key // the object with the error
	Field  string    // "disks[0].size"; empty: the object as a whole
	Line   int       // line in the text of the field, from 1; 0: not known. Text has it, too
	Text   Message

	// Forbidden says that the cluster doesn't allow it: see [Cluster.Allow].
	Forbidden bool
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Object.Kind != "" {
		b.WriteString(e.Object.Title() + ": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	return b.String() + e.Text.String()
}

// Errors are all errors.
type Errors = List[*Error] //nolint:errname // it reads as spec.Errors

// List is several errors, one a line.
type List[E error] []E //nolint:errname // packages name their own by it

func (l List[E]) Error() string {
	lines := make([]string, len(l))
	for i, one := range l {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each of them.
func (l List[E]) Unwrap() []error {
	all := make([]error, len(l))
	for i, one := range l {
		all[i] = one
	}
	return all
}

// OrNil returns nil if there are none.
func (l List[E]) OrNil() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// report collects what is wrong with an object, and what people should know about it.
type report struct {
	object model.Key
	errs   Errors
	notes  []*Error
}

// fail notes that a field is wrong.
func (r *report) fail(field, format string, args ...any) {
	r.errs = append(r.errs, &Error{Object: r.object, Field: field, Text: message(format, args...)})
}

// tell adds a note about a field.
func (r *report) tell(field, format string, args ...any) {
	r.notes = append(r.notes, &Error{Object: r.object, Field: field, Text: message(format, args...)})
}

// forbidden notes that the cluster has a rule against what a field says.
func (r *report) forbidden(field, format string, args ...any) {
	r.errs = append(r.errs, &Error{Object: r.object, Field: field, Text: message(format, args...), Forbidden: true})
}

// part adds what is wrong with a part of the object, whose fields are below a name.
func (r *report) part(name string, errs Errors, notes []*Error) {
	below := func(list []*Error) []*Error {
		list = slices.Clone(list)
		for i, e := range list {
			one := *e
			one.Object, one.Field = r.object, strings.TrimSuffix(name+"."+e.Field, ".")
			list[i] = &one
		}
		return list
	}
	r.errs, r.notes = append(r.errs, below(errs)...), append(r.notes, below(notes)...)
}
