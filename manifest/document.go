package manifest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/model"
)

// document is an object as it stands in a file.
type document struct {
	file       string
	node       *yaml.Node // a mapping
	apiVersion string
	key        model.Key
}

// Bounds for what is read. A document that needs more is no manifest.
const (
	maxDepth = 100
	maxNodes = 1_000_000 // of a document, with aliases counted each time
)

var yamlErrorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// tabbed reports whether a line of a text, from 1 on, is indented with a tab.
func tabbed(data []byte, line int) bool {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	return bytes.ContainsRune(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], '\t')
}

// parse reads the documents of a text.
func (r *reader) parse(file string, data []byte) {
	in := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			line, text := 0, err.Error()
			if m := yamlErrorLine.FindStringSubmatch(text); m != nil {
				line, _ = strconv.Atoi(m[1])
				text = m[2]
			}
			if tabbed(data, line) {
				text = "the line is indented with a tab, and YAML takes spaces only"
			}
			r.fail(file, line, "this isn't YAML: %s", text)
			return // what follows is ambiguous
		}
		if len(doc.Content) == 1 {
			r.document(file, doc.Content[0])
		}
	}
}

// document takes one document apart into objects.
func (r *reader) document(file string, node *yaml.Node) {
	if isNull(node) {
		return
	}
	if node.Kind != yaml.MappingNode {
		r.fail(file, node.Line, "want an object with apiVersion and kind, have %s", kindName(node))
		return
	}
	r.nodes = 0
	if !r.bounded(file, node, map[*yaml.Node]bool{}, 0) {
		return
	}
	for i, part := range splitObjects(node) {
		if i > 0 {
			r.notes = append(r.notes, &Error{File: file, Line: part.Line, Text: `"---" is missing before this object; it was read as one of its own`})
		}
		r.object(file, part)
	}
}

// splitObjects gives each object of a document in which "---" was forgotten:
// apiVersion for the second time begins a new one.
func splitObjects(node *yaml.Node) []*yaml.Node {
	var parts []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		if k := node.Content[i]; len(parts) == 0 || k.Value == "apiVersion" && field(parts[len(parts)-1], "apiVersion") != nil {
			part := *node
			part.Content, part.Line = nil, k.Line
			parts = append(parts, &part)
		}
		last := parts[len(parts)-1]
		last.Content = append(last.Content, node.Content[i], node.Content[i+1])
	}
	if len(parts) == 0 {
		return []*yaml.Node{node}
	}
	return parts
}

// object adds an object, or the items of a list of objects.
func (r *reader) object(file string, node *yaml.Node) {
	d := &document{file: file, node: node, apiVersion: text(node, "apiVersion")}
	d.key.Kind = text(node, "kind")
	if base, isList := strings.CutSuffix(d.key.Kind, "List"); isList && (base == "" || kinds[base] != nil) {
		r.items(d)
		return
	}
	if !r.known(d) {
		return
	}
	meta := field(node, "metadata")
	d.key.Name, d.key.Namespace = text(meta, "name"), text(meta, "namespace")
	if d.key.Name == "" {
		line := node.Line
		if meta != nil {
			line = meta.Line
		}
		r.errs = append(r.errs, &Error{File: file, Line: line, Object: d.key, Field: "metadata.name", Text: "is missing"})
		return
	}
	r.docs = append(r.docs, d)
}

func (r *reader) items(list *document) {
	items := field(list.node, "items")
	if items != nil && items.Kind == yaml.AliasNode {
		items = items.Alias
	}
	if items == nil || items.Kind != yaml.SequenceNode {
		r.fail(list.file, list.node.Line, "%s has no items", list.key.Kind)
		return
	}
	for _, item := range items.Content {
		for item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.MappingNode {
			r.fail(list.file, item.Line, "want an object with apiVersion and kind, have %s", kindName(item))
			continue
		}
		r.object(list.file, item)
	}
}

// bounded reports whether a tree is of a size that can be walked.
func (r *reader) bounded(file string, node *yaml.Node, open map[*yaml.Node]bool, depth int) bool {
	r.nodes++
	switch {
	case r.nodes > maxNodes:
		r.fail(file, node.Line, "there is too much of it, perhaps by aliases of aliases")
		return false
	case depth > maxDepth:
		r.fail(file, node.Line, "it is nested too deep")
		return false
	case open[node]:
		r.fail(file, node.Line, "the anchor %q contains itself", node.Anchor)
		return false
	case node.Kind == yaml.AliasNode:
		return r.bounded(file, node.Alias, open, depth+1)
	}
	open[node] = true
	defer delete(open, node)
	for _, c := range node.Content {
		if !r.bounded(file, c, open, depth+1) {
			return false
		}
	}
	return true
}

// field gives the value of a key of a mapping; nil: there is none.
func field(node *yaml.Node, key string) *yaml.Node {
	if node == nil {
		return nil
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// text gives the text of a key of a mapping.
func text(node *yaml.Node, key string) string {
	v := field(node, key)
	if v != nil && v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v == nil || v.Kind != yaml.ScalarNode || isNull(v) {
		return ""
	}
	return v.Value
}

func isNull(node *yaml.Node) bool {
	return node.Kind == 0 || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// kindName says in words what a node is.
func kindName(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return kindName(node.Alias)
	}
	switch node.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	}
	return "a text"
}
