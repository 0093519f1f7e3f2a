// Package draft writes the manifests of existing guests.
package draft

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
)

// Mapping is a YAML mapping whose keys keep their order.
type Mapping struct{ node yaml.Node }

// none is a list that is empty on purpose.
type none struct{}

// Put adds a key, unless the value is empty.
func (m *Mapping) Put(key string, value any) *Mapping {
	var v yaml.Node
	switch value := value.(type) {
	case *Mapping:
		if value == nil || len(value.node.Content) == 0 {
			return m
		}
		m.key(key, &value.node)
		return m
	case []*Mapping:
		if len(value) == 0 {
			return m
		}
		v.Kind = yaml.SequenceNode
		for _, one := range value {
			v.Content = append(v.Content, &one.node)
		}
	case none:
		v.Kind, v.Style = yaml.SequenceNode, yaml.FlowStyle
	case []string:
		if len(value) == 0 {
			return m
		}
		_ = v.Encode(value)
		v.Style = yaml.FlowStyle
	case string:
		if value == "" {
			return m
		}
		_ = v.Encode(value)
	case int:
		if value == 0 {
			return m
		}
		_ = v.Encode(value)
	case *bool:
		if value == nil {
			return m
		}
		_ = v.Encode(*value)
	case *int:
		if value == nil {
			return m
		}
		_ = v.Encode(*value)
	case bool:
		if !value {
			return m
		}
		_ = v.Encode(value)
	default:
		_ = v.Encode(value)
	}
	m.key(key, &v)
	return m
}

// key adds a key with its value, which stays shared with whoever has it.
func (m *Mapping) key(key string, value *yaml.Node) {
	m.node.Kind = yaml.MappingNode
	m.node.Content = append(m.node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

// Text returns the mapping as YAML.
func (m *Mapping) Text() string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	_ = enc.Encode(&m.node) // plain nodes can always be written
	return b.String()
}

// Values returns the mapping as Go values.
func (m *Mapping) Values() (values map[string]any, err error) {
	err = m.node.Decode(&values)
	return values, err
}

// Before inserts a key before all others.
func (m *Mapping) Before(key string, value any) {
	first := (&Mapping{}).Put(key, value)
	m.node.Content = append(first.node.Content, m.node.Content...)
}

// Documents are manifests that are written together; equal classes and images
// are written once.
type Documents struct{ List []Document }

// Document is one of them.
type Document struct {
	Kind, Name, Comment string
	Namespace           string // in Kubernetes
	Spec                *Mapping
	users               []*Mapping // references to it, by name
}

// Shared reports whether other documents may refer to the object.
func (d Document) Shared() bool { return len(d.users) > 0 }

// share adds an object that several others may refer to, and returns the
// reference to it.
func (d *Documents) share(kind, name string, spec *Mapping) *Mapping {
	ref := (&Mapping{}).Put("name", name)
	d.List = append(d.List, Document{Kind: kind, Name: name, Spec: spec, users: []*Mapping{ref}})
	return ref
}

// Add adds an object, with a comment above it.
func (d *Documents) Add(comment, kind, name string, spec *Mapping) {
	d.List = append(d.List, Document{Kind: kind, Name: name, Comment: comment, Spec: spec})
}

// Merge adds other documents. Shared documents that exist already are reused, and names
// that are taken get a number.
func (d *Documents) Merge(other *Documents) {
	for _, doc := range other.List {
		if !doc.Shared() {
			d.List = append(d.List, doc)
			continue
		}
		name, known := d.free(doc)
		doc.Rename(name)
		if !known {
			d.List = append(d.List, doc)
		}
	}
}

// free finds the name under which a shared document is there, or can be added.
func (d *Documents) free(doc Document) (name string, known bool) {
	name = doc.Name
	for n := 2; ; n++ {
		i := slices.IndexFunc(d.List, func(o Document) bool { return o.Kind == doc.Kind && o.Name == name })
		switch {
		case i < 0:
			return name, false
		case d.List[i].Spec.Text() == doc.Spec.Text():
			return name, true
		}
		name = fmt.Sprintf("%s-%d", doc.Name, n)
	}
}

// Text returns all documents as YAML.
func (d *Documents) Text() string {
	var parts []string
	for _, doc := range d.List {
		var b strings.Builder
		for line := range strings.Lines(doc.Comment) {
			b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
		}
		parts = append(parts, b.String()+doc.Object().Text())
	}
	return strings.Join(parts, "---\n")
}

// Object returns the whole object.
func (d Document) Object() *Mapping {
	meta := (&Mapping{}).Put("name", d.Name).Put("namespace", d.Namespace)
	return (&Mapping{}).Put("apiVersion", api.APIVersion).Put("kind", d.Kind).Put("metadata", meta).Put("spec", d.Spec)
}

// Rename renames a shared document.
func (d *Document) Rename(name string) {
	d.Name = name
	for _, ref := range d.users {
		ref.node.Content[1].Value = name
	}
}
