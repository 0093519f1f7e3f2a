package manifest

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// Set is a set of objects that belong together.
type Set struct {
	objects []*object // in the order in which they were given
	index   map[model.Key]*object
	notes   []*Error
}

// Notes returns information about the manifests that isn't an error.
func (s *Set) Notes() (list []string) {
	for _, n := range s.notes {
		list = append(list, n.Error())
	}
	return list
}

// Remarks returns the notes with objects and fields as data, for doors with other words.
func (s *Set) Remarks() []*Error { return s.notes }

// Keys returns the keys of all objects, in the order in which they were read.
func (s *Set) Keys() []model.Key {
	keys := make([]model.Key, len(s.objects))
	for i, o := range s.objects {
		keys[i] = o.key
	}
	return keys
}

// Place returns the file of an object, and the line in which it begins.
func (s *Set) Place(key model.Key) (file string, line int, ok bool) {
	o := s.index[key]
	if o == nil {
		return "", 0, false
	}
	at, ok := o.places[""]
	return at.file, at.line, ok
}

// FromObjects makes a set of objects of package v1beta1, of [Secret] and of
// [ConfigMap]. They aren't changed.
func FromObjects(objects ...any) (*Set, error) {
	s := &Set{index: map[model.Key]*object{}}
	for _, value := range objects {
		kind := KindOf(value)
		meta, ok := value.(metav1.Object)
		if !ok || kind == "" {
			return nil, fmt.Errorf("a %T isn't an object that can be applied", value)
		}
		o := &object{Object: value, key: model.Key{Kind: kind, Namespace: meta.GetNamespace(), Name: meta.GetName()}}
		if s.index[o.key] != nil {
			return nil, fmt.Errorf("%s is there twice", o.key.Title())
		}
		s.add(o)
	}
	return s, nil
}

// Lend adds objects of other namespaces that machines of the set refer to. Their own
// namespaces manage them.
func (s *Set) Lend(objects ...any) error {
	lent, err := FromObjects(objects...)
	if err != nil {
		return err
	}
	for _, o := range lent.objects {
		if s.index[o.key] != nil {
			return fmt.Errorf("%s is there twice", o.key.Title())
		}
		o.lent = true
		s.add(o)
	}
	return nil
}

// KindOf returns the kind of an object that can be applied; empty: it can't be.
func KindOf(value any) string {
	switch value.(type) {
	case *api.Provider:
		return "Provider"
	case *ConfigMap:
		return "ConfigMap"
	case *Secret:
		return "Secret"
	case *api.VMClass:
		return "VMClass"
	case *api.VMClone:
		return "VMClone"
	case *api.VMImage:
		return "VMImage"
	case *api.VMPlacementPolicy:
		return "VMPlacementPolicy"
	case *api.VMSnapshot:
		return "VMSnapshot"
	case *api.VirtualMachine:
		return "VirtualMachine"
	}
	return ""
}

func (s *Set) add(o *object) {
	s.objects = append(s.objects, o)
	s.index[o.key] = o
}

// set makes the set of all that was read.
func (r *reader) set() (*Set, error) {
	s := &Set{index: map[model.Key]*object{}, notes: r.notes}
	first := map[model.Key]*document{}
	for _, doc := range r.docs {
		if before := first[doc.key]; before != nil {
			r.errs = append(r.errs, &Error{
				File: doc.file, Line: doc.node.Line, Object: doc.key,
				Text: fmt.Sprintf("is there twice, first at %s:%d", before.file, before.node.Line),
			})
			continue
		}
		first[doc.key] = doc
		s.add(r.decode(doc))
	}
	return s, sorted(r.errs)
}
