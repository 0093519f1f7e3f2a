package manifest

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/suggest"
)

// scope is an object that is being translated.
type scope struct {
	*translator
	o *object
}

// each goes through all objects of a type.
func each[T any](t *translator, do func(s scope, value T)) {
	for _, o := range t.set.objects {
		if value, ok := o.Object.(T); ok {
			do(scope{t, o}, value)
		}
	}
}

// fail notes that a field is wrong.
func (s scope) fail(field, format string, args ...any) {
	s.wrongAt(s.o.where(field), field, fmt.Sprintf(format, args...))
}

// forbidden notes that the Provider has a rule against what a field says.
func (s scope) forbidden(field, text string) {
	at := s.o.where(field)
	s.add(&Error{File: at.file, Line: at.line, Object: s.o.written().key, Field: field, Text: text, Forbidden: true})
}

// wrongAt is the same as fail for a place.
func (s scope) wrongAt(at place, field, text string) {
	s.add(&Error{File: at.file, Line: at.line, Object: s.o.written().key, Field: field, Text: text})
}

// add adds an error. The same error of several machines of one object is reported once.
func (s scope) add(e *Error) {
	if slices.ContainsFunc(s.errs, func(o *Error) bool { return *o == *e }) {
		return
	}
	s.errs = append(s.errs, e)
}

// tell adds a note about a field.
func (s scope) tell(field, format string, args ...any) {
	at := s.o.where(field)
	s.note(&Error{File: at.file, Line: at.line, Object: s.o.written().key, Field: field, Text: fmt.Sprintf(format, args...)})
}

// owner is whose the guests of this object are.
func (s scope) owner() model.Owner {
	o := model.Owner{Door: cmp.Or(s.options.Door, Door), Set: s.options.Set, Key: s.o.key}
	if s.o.places == nil { // from Kubernetes, where the same name may be another object
		o.UID, o.Set = Identity(s.meta()), cmp.Or(s.meta().GetAnnotations()[api.ClusterName], o.Set)
	}
	return o
}

// Identity returns the identity of an object of Kubernetes beside its name: the UID that it
// had when it was created.
func Identity(o metav1.Object) string {
	return cmp.Or(o.GetAnnotations()[api.Identity], string(o.GetUID()))
}

// Restored reports whether an object has the identity of an earlier object: it was restored
// from a backup, or took over another's machine.
func Restored(o metav1.Object) bool { return Identity(o) != string(o.GetUID()) }

func (s scope) meta() metav1.Object { return s.o.Object.(metav1.Object) }

// deleted reports whether Kubernetes waits for the object to go.
func (s scope) deleted() bool { return s.meta().GetDeletionTimestamp() != nil }

// find looks for an object of the same namespace. What isn't there is an error,
// which says what is there.
func (s scope) find(field, kind, name string) *object {
	if name == "" {
		s.fail(field, "is missing")
		return nil
	}
	key := model.Key{Kind: kind, Namespace: s.o.key.Namespace, Name: name}
	o := s.set.index[key]
	if o == nil && s.options.Find != nil && (kind == "Secret" || kind == "ConfigMap") {
		switch found := s.options.Find(key).(type) {
		case nil:
		case error:
			s.fail(field, "%v", found)
			return nil
		default:
			o = &object{Object: found, key: key}
		}
	}
	switch {
	case o == nil && s.isApart(field, key):
	case o == nil:
		s.fail(field, "there is no %s %s %s%s", kind, name, s.here(), s.others(name, kind))
	case kind != "Provider" && s.isWrong(key):
		s.fail(field, "%s isn't right itself", key.Title())
	}
	return o
}

// isApart reports whether an object exists and was left out, and why.
func (s scope) isApart(field string, key model.Key) bool {
	if s.options.Apart == nil {
		return false
	}
	why := s.options.Apart(key)
	if why != "" {
		s.fail(field, "%s can't be used: %s", key.Title(), why)
	}
	return why != ""
}

// apart reports whether an object of one of some kinds exists and was left out, and why.
func (s scope) apart(field, name string, kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool {
		return s.isApart(field, model.Key{Kind: kind, Namespace: s.o.key.Namespace, Name: name})
	})
}

// here is where objects that are named are looked for.
func (s scope) here() string {
	if s.o.places == nil {
		return "in namespace " + s.o.key.Namespace
	}
	return "in these manifests"
}

// others says which objects of some kinds there are.
func (s scope) others(name string, kinds ...string) string {
	var names []string
	for _, o := range s.set.objects {
		for _, k := range kinds {
			if o.key.Kind == k && o.key.Namespace == s.o.key.Namespace {
				names = append(names, o.key.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	if near, ok := suggest.Nearest(name, names); ok {
		return "; did you mean " + near + "?"
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "; there is " + list(names)
}

// list is "a, b and c".
func list(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " and "
		default:
			text += ", "
		}
		text += w
	}
	return text
}
