package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
)

// place is where something stands.
type place struct {
	file string
	line int
	text int // the line in which a text begins that stands below its field; 0: none does
}

// decoder puts a document into a struct, by its json tags. What a word means is
// up to the type of the field that it is for, not to YAML.
type decoder struct {
	doc    *document
	root   reflect.Type
	places map[string]place // by path: "spec.disks[0].size"
	errs   Errors
}

func (d *decoder) at(node *yaml.Node) place {
	return place{file: d.doc.file, line: node.Line}
}

// maxErrors is how many errors of one object are reported.
const maxErrors = 50

func (d *decoder) fail(node *yaml.Node, path, format string, args ...any) {
	at := d.at(node)
	if len(d.errs) == maxErrors {
		format, args = "and more", nil
	}
	if len(d.errs) > maxErrors {
		return
	}
	d.errs = append(d.errs, &Error{File: at.file, Line: at.line, Object: d.doc.key, Field: path, Text: fmt.Sprintf(format, args...)})
}

var (
	unmarshaler  = reflect.TypeFor[json.Unmarshaler]()
	quantityType = reflect.TypeFor[resource.Quantity]()
)

// value puts a node into a value.
func (d *decoder) value(node *yaml.Node, v reflect.Value, path string) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if isNull(node) {
		return // as if it weren't there
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		d.value(node, v.Elem(), path)
		return
	}
	if v.CanAddr() && v.Addr().Type().Implements(unmarshaler) {
		d.json(node, v.Addr().Interface().(json.Unmarshaler), v.Type(), path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(node, v, path)
	case reflect.Map:
		d.mapping(node, v, path)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			d.bytes(node, v, path)
			return
		}
		d.list(node, v, path)
	default:
		d.scalar(node, v, path)
	}
}

func (d *decoder) structure(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "want fields below it, have %s", kindName(node))
		return
	}
	fields := fieldsOf(v.Type())
	d.pairs(node, path, func(key, value *yaml.Node, below string) {
		index, ok := fields[key.Value]
		switch {
		case path == "" && key.Value == "status": // Kubernetes adds it; here it says nothing
		case ok && value.Kind == yaml.ScalarNode && value.Tag != "!!null" && holdsFields(v.FieldByIndex(index).Type()):
			d.fail(value, below, "want fields below it, have %s%s", kindName(value), simplerField(v.Type(), key.Value))
		case ok:
			d.value(value, v.FieldByIndex(index), below)
		case len(d.errs) <= maxErrors:
			d.fail(key, below, "%s", unknownField(d.root, v.Type(), key.Value))
		}
	})
}

func (d *decoder) mapping(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "want names with values below it, have %s", kindName(node))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(node, path, func(key, value *yaml.Node, below string) {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(value, e, below)
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e)
	})
}

func (d *decoder) list(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.SequenceNode {
		d.fail(node, path, "want a list, have %s", kindName(node))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content)))
	for i, item := range node.Content {
		below := fmt.Sprintf("%s[%d]", path, i)
		d.places[below] = d.at(item)
		d.value(item, v.Index(i), below)
	}
}

// pairs goes through a mapping, with what is merged into it by "<<".
func (d *decoder) pairs(node *yaml.Node, path string, do func(key, value *yaml.Node, below string)) {
	seen := map[string]*yaml.Node{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
			continue
		case key.Kind != yaml.ScalarNode:
			d.fail(key, path, "want a name, have %s", kindName(key))
			continue
		case seen[key.Value] != nil:
			d.fail(key, join(path, key.Value), "is there twice, first in line %d", seen[key.Value].Line)
			continue
		}
		seen[key.Value] = key
		below := join(path, key.Value)
		if _, known := d.places[below]; !known { // what is merged comes after what is said
			d.places[below] = d.at(key)
		}
		do(key, value, below)
	}
	for _, m := range merged {
		d.merged(m, path, seen, do)
	}
}

// merged goes through what "<<" refers to, but for what the mapping itself says.
func (d *decoder) merged(node *yaml.Node, path string, seen map[string]*yaml.Node, do func(key, value *yaml.Node, below string)) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			d.merged(item, path, seen, do)
		}
	case yaml.MappingNode:
		d.pairs(node, path, func(key, value *yaml.Node, below string) {
			if seen[key.Value] == nil {
				seen[key.Value] = key
				do(key, value, below)
			}
		})
	default:
		d.fail(node, path, "<< wants a mapping, has %s", kindName(node))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// decode puts a document into an object of its kind.
func (r *reader) decode(doc *document) *object {
	value := kinds[doc.key.Kind].make()
	v := reflect.ValueOf(value).Elem()
	d := &decoder{doc: doc, root: v.Type(), places: map[string]place{"": {file: doc.file, line: doc.node.Line}}}
	d.value(doc.node, v, "")
	r.errs = append(r.errs, d.errs...)
	return &object{Object: value, key: doc.key, places: d.places}
}

// object is an object with where its parts stand.
type object struct {
	Object any
	key    model.Key
	places map[string]place
	lent   bool // by another namespace, whose translation looks after it
	several
}

// written is the object as somebody wrote it, which may stand for several.
func (o *object) written() *object {
	if o.of != nil {
		return o.of
	}
	return o
}

// says reports whether a field is there. Objects that weren't read from a text don't tell.
func (o *object) says(path string) bool {
	_, there := o.places[path]
	return there
}

// where finds a field, or the nearest thing around it.
func (o *object) where(path string) place {
	for {
		if at, ok := o.places[path]; ok || path == "" {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}
