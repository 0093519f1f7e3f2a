package manifest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

var objectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// checkName checks the object's own name. Kubernetes is as strict.
func (s scope) checkName() {
	if name := s.o.key.Name; !objectName.MatchString(name) || len(name) > 253 {
		s.fail("metadata.name", "want lower-case letters, digits, - and ., have %q", suggest.Shortened(name))
	}
}

// checkWord checks that a field has one of the words it may have, or none.
func (s scope) checkWord(field, have string, words ...string) {
	if have != "" && !slices.Contains(words, have) {
		s.fail(field, "%s", suggest.OneOf(have, words))
	}
}

// objectWords are what people call the objects that package spec names.
var objectWords = map[spec.Name]string{
	spec.TheCluster: "Provider", spec.TheClass: "VMClass", spec.TheImage: "VMImage", spec.TheSecret: "Secret",
}

// words are those of manifests. Its fields have the names that package spec has for them.
var words = spec.Words{
	Object: func(n spec.Name) string { return objectWords[n] },
	Field:  func(_ spec.Name, path string) string { return "spec." + path },
	Called: func(path string) string { return path },
}

// take takes over what package spec says of the object.
func (s scope) take(errs spec.Errors, notes []*spec.Error, names fieldNames) {
	for _, e := range errs {
		field, ok := names.of(e.Field)
		if !ok {
			continue
		}
		at := s.o.where(field)
		if at.text > 0 && e.Line > 0 {
			at.line = at.text + e.Line - 1
		}
		s.add(&Error{File: at.file, Line: at.line, Object: s.o.written().key, Field: field, Text: e.Text.In(words), Forbidden: e.Forbidden})
	}
	for _, n := range notes {
		if field, ok := names.of(n.Field); ok {
			s.tell(field, "%s", n.Text.In(words))
		}
	}
}

// of is where a manifest has a field; false: in an object of its own, which is checked
// by itself.
func (f fieldNames) of(field string) (string, bool) {
	if field == "" {
		return "spec", true
	}
	end := strings.IndexAny(field, ".[")
	if end < 0 {
		end = len(field)
	}
	first, rest := field[:end], field[end:]
	if rest != "" && (first == "class" || first == "image") {
		return "", false
	}
	if known, ok := f[first]; ok {
		return known + rest, true
	}
	return "spec." + field, true
}
