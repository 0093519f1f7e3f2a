package draft

import (
	"iter"

	"go.yaml.in/yaml/v3"
)

// Resource returns a machine as Terraform has it: one mapping, with its class and its image in it. Fields have the
// names of manifests still, see [Attribute].
func Resource(docs *Documents) *Mapping {
	out, parts := &Mapping{}, map[string]*Mapping{}
	for _, doc := range docs.List {
		parts[doc.Kind] = doc.Spec
	}
	for _, doc := range docs.List {
		if doc.Kind != "VirtualMachine" {
			continue
		}
		out.Put("name", doc.Name)
		for key, value := range doc.Spec.pairs() {
			switch key {
			case "name":
				out.key("guestName", value)
			case "classRef":
				out.Put("class", parts["VMClass"])
			case "imageRef":
				out.Put("image", parts["VMImage"])
			default:
				out.key(key, value)
			}
		}
	}
	return out
}

// own are the fields whose keys are people's, and not names of fields.
var own = map[string]bool{"extraConfig": true}

// Owned reports whether the keys of a field's value are chosen by people.
func Owned(field string) bool { return own[field] }

// pairs are the keys with their values.
func (m *Mapping) pairs() iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; i+1 < len(m.node.Content); i += 2 {
			if !yield(m.node.Content[i].Value, m.node.Content[i+1]) {
				return
			}
		}
	}
}

// All yields the keys with their values, in their order. A value is a *Mapping, a []any, or what YAML makes of
// a scalar.
func (m *Mapping) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for key, node := range m.pairs() {
			if !yield(key, plain(node)) {
				return
			}
		}
	}
}

func plain(node *yaml.Node) any {
	switch node.Kind {
	case yaml.MappingNode:
		return &Mapping{node: *node}
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			list[i] = plain(item)
		}
		return list
	}
	var value any
	_ = node.Decode(&value) // a scalar that was encoded here
	return value
}
