package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/spec/suggest"
)

var fieldCache sync.Map // reflect.Type → map[string][]int

// fieldsOf are the fields of a struct by the names that they have in YAML, those
// of embedded structs included.
func fieldsOf(t reflect.Type) map[string][]int {
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string][]int)
	}
	all := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || name == "-" || !f.IsExported() {
			continue
		}
		if hidden(t, f.Index) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		all[name] = f.Index
	}
	fieldCache.Store(t, all)
	return all
}

// hidden reports whether a field is inside of an embedded struct with a name of
// its own, like that of metadata.
func hidden(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		outer := t.FieldByIndex(index[:i])
		if name, _, _ := strings.Cut(outer.Tag.Get("json"), ","); name != "" {
			return true
		}
	}
	return false
}

// unknownField says which field was meant by one that isn't there: one beside it
// that is spelled alike, or one of that name elsewhere in the object.
func unknownField(root, here reflect.Type, have string) string {
	names := sortedKeys(fieldsOf(here))
	text := "there is no such field"
	if near, ok := suggest.Nearest(have, names); ok {
		return fmt.Sprintf("%s; did you mean %s?", text, near)
	}
	if path := findField(root, have, "", map[reflect.Type]bool{}); path != "" {
		return fmt.Sprintf("%s here; did you mean %s?", text, path)
	}
	return fmt.Sprintf("%s; known here are %s", text, strings.Join(names, ", "))
}

// holdsFields reports whether values of a type have fields of their own, and nothing else will do.
func holdsFields(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(unmarshaler)
}

// simplerField says which field beside one that has fields of its own was meant by somebody who gave it
// a single value: cpus, where there is also cpu.
func simplerField(here reflect.Type, have string) string {
	var names []string
	for name, index := range fieldsOf(here) {
		if name != have && !holdsFields(here.FieldByIndex(index).Type) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if near, ok := suggest.Nearest(have, names); ok {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// findField looks for a field of that name anywhere below a type.
func findField(t reflect.Type, name, path string, seen map[reflect.Type]bool) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	// Of metadata, nothing but what is there is ever meant, and nobody writes a status.
	if t.Kind() != reflect.Struct || seen[t] || path == "metadata" || path == "status" || t == quantityType {
		return ""
	}
	seen[t] = true
	fields := fieldsOf(t)
	for _, f := range sortedKeys(fields) {
		if strings.EqualFold(f, name) {
			return join(path, f)
		}
	}
	for _, f := range sortedKeys(fields) {
		if found := findField(t.FieldByIndex(fields[f]).Type, name, join(path, f), seen); found != "" {
			return found
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
