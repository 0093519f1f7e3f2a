package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
)

// mapping is a YAML mapping whose keys keep their order.
type mapping struct{ node yaml.Node }

// none is a list that is empty on purpose.
type none struct{}

// put adds a key, unless the value says nothing.
func (m *mapping) put(key string, value any) *mapping {
	var v yaml.Node
	switch value := value.(type) {
	case *mapping:
		if value == nil || len(value.node.Content) == 0 {
			return m
		}
		m.key(key, &value.node)
		return m
	case []*mapping:
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
func (m *mapping) key(key string, value *yaml.Node) {
	m.node.Kind = yaml.MappingNode
	m.node.Content = append(m.node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

// text is the mapping as YAML.
func (m *mapping) text() string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	_ = enc.Encode(&m.node) // plain nodes can always be written
	return b.String()
}

// documents are manifests that are written together; equal classes and images
// are written once.
type documents struct{ list []document }

type document struct {
	kind, name, comment string
	namespace           string // in Kubernetes
	spec                *mapping
	users               []*mapping // references to it, by name
}

func newDocuments() *documents { return &documents{} }

// share adds an object that several others may refer to, and returns the
// reference to it.
func (d *documents) share(kind, name string, spec *mapping) *mapping {
	ref := (&mapping{}).put("name", name)
	d.list = append(d.list, document{kind: kind, name: name, spec: spec, users: []*mapping{ref}})
	return ref
}

func (d *documents) add(comment, kind, name string, spec *mapping) {
	d.list = append(d.list, document{kind: kind, name: name, comment: comment, spec: spec})
}

// merge adds the documents of others. Shared ones that are there already are
// referred to, and names that are taken for something else get a number.
func (d *documents) merge(other *documents) {
	for _, doc := range other.list {
		if len(doc.users) == 0 {
			d.list = append(d.list, doc)
			continue
		}
		name, known := d.free(doc)
		doc.rename(name)
		if !known {
			d.list = append(d.list, doc)
		}
	}
}

// free finds the name under which a shared document is there, or can be added.
func (d *documents) free(doc document) (name string, known bool) {
	name = doc.name
	for n := 2; ; n++ {
		i := slices.IndexFunc(d.list, func(o document) bool { return o.kind == doc.kind && o.name == name })
		switch {
		case i < 0:
			return name, false
		case d.list[i].spec.text() == doc.spec.text():
			return name, true
		}
		name = fmt.Sprintf("%s-%d", doc.name, n)
	}
}

func (d *documents) text() string {
	var parts []string
	for _, doc := range d.list {
		var b strings.Builder
		for line := range strings.Lines(doc.comment) {
			b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
		}
		parts = append(parts, b.String()+doc.object().text())
	}
	return strings.Join(parts, "---\n")
}

// object is the whole object.
func (d document) object() *mapping {
	meta := (&mapping{}).put("name", d.name).put("namespace", d.namespace)
	return (&mapping{}).put("apiVersion", api.APIVersion).put("kind", d.kind).put("metadata", meta).put("spec", d.spec)
}

// rename calls a shared document something else.
func (d *document) rename(name string) {
	d.name = name
	for _, ref := range d.users {
		ref.node.Content[1].Value = name
	}
}
