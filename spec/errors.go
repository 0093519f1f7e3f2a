package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Error is one thing that is wrong with what is wanted.
type Error struct {
	Object model.Key // that it is about
	Field  string    // "disks[0].size"; empty: the object as a whole
	Line   int       // of the text that the field holds, from 1; 0: not known. Text has it too
	Text   string

	// Forbidden says that it is a rule of the cluster that is broken: see [Cluster.Allow].
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
	return b.String() + e.Text
}

// Errors are all that is wrong.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each of them.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// orNil is an error only if there are any.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// report collects what is wrong with an object, and what people should know about it.
type report struct {
	object model.Key
	errs   Errors
	notes  []*Error
}

// fail notes that a field is wrong.
func (r *report) fail(field, format string, args ...any) {
	r.errs = append(r.errs, &Error{Object: r.object, Field: field, Text: fmt.Sprintf(format, args...)})
}

// tell notes something about a field that isn't wrong.
func (r *report) tell(field, format string, args ...any) {
	r.notes = append(r.notes, &Error{Object: r.object, Field: field, Text: fmt.Sprintf(format, args...)})
}

// forbidden notes that the cluster has a rule against what a field says.
func (r *report) forbidden(field, text string) {
	r.errs = append(r.errs, &Error{Object: r.object, Field: field, Text: text, Forbidden: true})
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
