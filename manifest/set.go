package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// Set is a set of objects that belong together.
type Set struct {
	objects []*object // in the order in which they were given
	index   map[model.Key]*object
	notes   []string
}

// Notes are what people should know about what was read, though it isn't wrong.
func (s *Set) Notes() []string { return s.notes }

// Keys are the names of all objects, in the order in which they were given.
func (s *Set) Keys() []model.Key {
	keys := make([]model.Key, len(s.objects))
	for i, o := range s.objects {
		keys[i] = o.key
	}
	return keys
}

// Place is where an object was read: its file, and the line in which it begins.
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
			return nil, fmt.Errorf("%s is there twice", title(o.key))
		}
		s.add(o)
	}
	return s, nil
}

// Lend adds objects of other namespaces that machines of the set refer to. They are
// looked after where they are.
func (s *Set) Lend(objects ...any) error {
	lent, err := FromObjects(objects...)
	if err != nil {
		return err
	}
	for _, o := range lent.objects {
		if s.index[o.key] != nil {
			return fmt.Errorf("%s is there twice", title(o.key))
		}
		o.lent = true
		s.add(o)
	}
	return nil
}

// KindOf is the kind of an object that can be applied; empty: it isn't one.
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
	for _, doc := range r.wholes() {
		s.add(r.decode(doc))
	}
	return s, r.errs.orNil()
}

// wholes are the documents with those merged into them that continue them.
func (r *reader) wholes() []*document {
	var wholes []*document
	byKey := map[model.Key]*document{}
	for _, doc := range r.docs {
		if doc.continues {
			continue
		}
		if first := byKey[doc.key]; first != nil {
			r.errs = append(r.errs, &Error{
				File: doc.file, Line: doc.node.Line, Object: doc.key,
				Text: fmt.Sprintf("is there twice, first at %s:%d", first.file, first.node.Line),
			})
			continue
		}
		byKey[doc.key] = doc
		wholes = append(wholes, doc)
	}
	for _, doc := range r.docs {
		if !doc.continues {
			continue
		}
		whole := byKey[doc.key]
		if whole == nil {
			r.errs = append(r.errs, &Error{
				File: doc.file, Line: doc.node.Line, Object: doc.key,
				Text: `leaves out its "existing spec", but there is no whole one to continue: give the file that has it too`,
			})
			continue
		}
		whole.merge(doc)
	}
	return wholes
}

// merge puts what another document says in the place of what this one says.
func (d *document) merge(other *document) {
	if d.from == nil {
		d.from = map[*yaml.Node]string{}
	}
	d.note(other.node, other.file)
	d.node = mergeNodes(d.node, other.node)
}

func (d *document) note(node *yaml.Node, file string) {
	d.from[node] = file
	for _, c := range node.Content {
		d.note(c, file)
	}
}

func mergeNodes(base, over *yaml.Node) *yaml.Node {
	if base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		return over
	}
	out := *base
	out.Content = append([]*yaml.Node(nil), base.Content...)
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		at := -1
		for j := 0; j+1 < len(out.Content); j += 2 {
			if out.Content[j].Value == key.Value {
				at = j
			}
		}
		if at < 0 {
			out.Content = append(out.Content, key, value)
			continue
		}
		if value.Kind != yaml.MappingNode {
			out.Content[at] = key // for its line
		}
		out.Content[at+1] = mergeNodes(out.Content[at+1], value)
	}
	return &out
}
