package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Error is an error in a file.
type Error struct {
	File  string
	Line  int    // 0: not known
	Field string // "provider.vip"
	Text  string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
		if e.Line > 0 {
			b.WriteString(strconv.Itoa(e.Line) + ":")
		}
		b.WriteString(" ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	return b.String() + e.Text
}

// Errors are all errors.
type Errors = spec.List[*Error] //nolint:errname // it reads as cluster.Errors

// Read reads a file with one cluster, sets its defaults, and reports errors. Files that it names are read
// from its folder.
func Read(name string, text []byte) (*File, error) {
	all, err := ReadAll(name, text)
	if err != nil {
		return nil, err
	}
	return Choose(name, all, "")
}

// ReadAll reads the clusters of a file: each of its documents is one.
func ReadAll(name string, text []byte) ([]*File, error) {
	var all []*File
	var errs Errors
	taken := claims{}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		r := &reading{file: name, lines: map[string]int{}}
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, r.syntax(err)
		}
		if doc.Content[0].ShortTag() == "!!null" { // nothing but a separator or comments
			continue
		}
		if f := r.read(&doc); f != nil {
			taken.add(r, f)
			all = append(all, f)
		}
		errs = append(errs, r.errs...)
	}
	switch {
	case len(errs) > 0:
		slices.SortStableFunc(errs, func(a, b *Error) int { return a.Line - b.Line })
		return nil, errs
	case len(all) == 0:
		return nil, &Error{File: name, Text: "is empty: want name, provider, kubernetes and nodes"}
	}
	return all, nil
}

// read reads one document, and notes its errors; nil: it can't be read.
func (r *reading) read(doc *yaml.Node) *File {
	f := &File{}
	r.known(doc.Content[0], reflect.TypeOf(*f), "")
	if len(r.errs) > 0 {
		return nil
	}
	if err := doc.Decode(f); err != nil {
		r.errs = append(r.errs, r.syntax(err))
		return nil
	}
	r.checkPasswords(doc.Content[0], "")
	r.checkZeros(f)
	r.readManifests(f)
	f.Fill()
	r.check(f)
	return f
}

// Choose finds a cluster of a file by its name; empty: the only one that the file has.
func Choose(file string, all []*File, name string) (*File, error) {
	var names []string
	for _, f := range all {
		if f.Name == name || name == "" && len(all) == 1 {
			return f, nil
		}
		names = append(names, f.Name)
	}
	if name == "" {
		return nil, &Error{File: file, Text: fmt.Sprintf("has the clusters %s; choose one with --cluster NAME", strings.Join(names, ", "))}
	}
	return nil, &Error{File: file, Text: fmt.Sprintf("has no cluster %s; %s", name, suggest.DidYouMean(name, names))}
}

// claims are the names and addresses that the clusters of a file take, with the line of each.
type claims map[string]int

// add finds what a cluster would share with those before it.
func (c claims) add(r *reading, f *File) {
	own := claims{}
	claim := func(field, what, key string) {
		if line, taken := c[what+" "+key]; taken {
			r.fail(field, "%s is the %s in line %d, too; clusters share nothing", key, what, line)
			return
		}
		own[what+" "+key] = r.lineOf(field)
	}
	claim("name", "name", f.Name)
	claim("provider.vip", "address", f.Provider.VIP)
	for _, p := range f.Pools() {
		for i, text := range p.Addresses {
			address, _, _ := strings.Cut(text, "/")
			claim(fmt.Sprintf("%s.addresses[%d]", fieldOf(f, p), i), "address", address)
		}
	}
	if len(r.errs) == 0 { // else there may be any number of them
		for _, n := range NodesOf(f) {
			claim(fieldOf(f, f.Pool(n.Pool)), "machine", n.Name)
		}
	}
	maps.Copy(c, own)
}

// reading is a file that is read.
type reading struct {
	file  string
	lines map[string]int // of fields
	errs  Errors
}

// fail notes what is wrong with a field.
func (r *reading) fail(field, format string, args ...any) {
	r.errs = append(r.errs, &Error{File: r.file, Line: r.lineOf(field), Field: field, Text: fmt.Sprintf(format, args...)})
}

// lineOf is the line of a field, or of what it is missing in.
func (r *reading) lineOf(field string) (line int) {
	for at := field; at != "" && line == 0; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		line = r.lines[at]
	}
	return line
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// syntax says what the parser of YAML says, in the words of people who write files.
func (r *reading) syntax(err error) *Error {
	e := &Error{File: r.file, Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		_, e.Text, _ = strings.Cut(err.Error(), m[0])
	}
	return e
}

// known walks through what was written beside the type that it is for, and notes where fields are
// and which aren't known.
func (r *reading) known(node *yaml.Node, t reflect.Type, path string) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		for i, item := range node.Content {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.lines[at] = item.Line
			r.known(item, t.Elem(), at)
		}
	case t.Kind() == reflect.Map && node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			at := path + "." + node.Content[i].Value
			r.lines[at] = node.Content[i].Line
			r.known(node.Content[i+1], t.Elem(), at)
		}
	case t.Kind() == reflect.Struct && node.Kind == yaml.MappingNode:
		fields := fieldsOf(t)
		names := make([]string, 0, len(fields))
		for _, f := range fields {
			names = append(names, f.name)
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, at := node.Content[i], node.Content[i].Value
			if path != "" {
				at = path + "." + at
			}
			r.lines[at] = key.Line
			at2 := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
			if at2 < 0 {
				r.fail(at, "is unknown; %s", suggest.DidYouMean(key.Value, names))
				continue
			}
			r.known(node.Content[i+1], fields[at2].of, at)
		}
	case node.ShortTag() == "!!null":
	default:
		if want := misfit(node, t.Kind()); want != "" {
			r.lines[path] = node.Line
			r.fail(path, "want %s, have %s", want, shown(node))
		}
	}
}

// misfit is what a field wants, in plain words, if what was written isn't that; empty: it is.
func misfit(node *yaml.Node, kind reflect.Kind) string {
	tag := node.ShortTag()
	switch {
	case kind == reflect.Int && tag == "!!float": // the parser would cut it off
		return "a whole number"
	case kind == reflect.Int && tag != "!!int":
		return "a number"
	case kind == reflect.Bool && tag != "!!bool" && node.Decode(new(bool)) != nil:
		return "true or false"
	case kind == reflect.String && node.Kind != yaml.ScalarNode:
		return "a text"
	case kind == reflect.Slice && node.Kind != yaml.SequenceNode:
		return "a list"
	case (kind == reflect.Struct || kind == reflect.Map) && node.Kind != yaml.MappingNode:
		return "fields below it"
	}
	return ""
}

// shown is what was written, for people.
func shown(node *yaml.Node) string {
	switch node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "fields"
	}
	return strconv.Quote(suggest.Shortened(node.Value))
}

// field is a field of a struct, as YAML names it.
type field struct {
	name string
	of   reflect.Type
}

func fieldsOf(t reflect.Type) (list []field) {
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if options == "inline" {
			list = append(list, fieldsOf(t.Field(i).Type)...)
			continue
		}
		list = append(list, field{name, t.Field(i).Type})
	}
	return list
}

// checkZeros finds sizes of nothing, which aren't the same as none that is given.
func (r *reading) checkZeros(f *File) {
	for _, pool := range f.Pools() {
		at := fieldOf(f, pool)
		for field, size := range map[string]int{".cpu": pool.CPU, ".memory": pool.Memory, ".disk": pool.Disk} {
			if size == 0 && r.lines[at+field] > 0 {
				r.fail(at+field, "want a number from 1 on, have 0; leave it out for the default")
			}
		}
	}
}

// readManifests reads the files that manifests are in.
func (r *reading) readManifests(f *File) {
	for i := range f.Kubernetes.Manifests {
		m, at := &f.Kubernetes.Manifests[i], fmt.Sprintf("kubernetes.manifests[%d]", i)
		switch {
		case (m.File == "") == (m.Content == ""):
			r.fail(at, "want one of file and content")
		case m.File != "":
			text, err := os.ReadFile(filepath.Join(filepath.Dir(r.file), m.File))
			if err != nil {
				r.fail(at+".file", "%v", err)
				continue
			}
			m.File, m.Content = "", string(text)
		}
	}
}
