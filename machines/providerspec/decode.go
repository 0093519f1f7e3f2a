package providerspec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Error is an error in a field.
type Error struct {
	Field string // below providerSpec.value: "cloudProviderSpec.memoryMB", or the name of the Machine
	Text  string
}

func (e *Error) Error() string {
	if e.Field == nameField {
		return e.Field + ": " + e.Text
	}
	return "providerSpec.value." + e.Field + ": " + e.Text
}

// nameField is where the name of a machine stands.
const nameField = "metadata.name"

// Errors are all errors.
type Errors = spec.List[*Error] //nolint:errname // it reads as providerspec.Errors

// Provider returns the cloudProvider that a providerSpec.value names; empty: it names none, or can't be read.
func Provider(raw []byte) string {
	var v struct {
		CloudProvider string `json:"cloudProvider"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return v.CloudProvider
}

// Decode reads providerSpec.value. The error is of type [Errors].
func Decode(raw []byte) (*Value, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, Errors{{Field: "cloudProvider", Text: "is missing: providerSpec.value is empty"}}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, Errors{{Field: "", Text: "want an object: " + err.Error()}}
	}
	var r report
	r.walk(tree, reflect.TypeFor[Value](), "")
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	v := &Value{}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, Errors{{Field: "", Text: err.Error()}}
	}
	r.check(v)
	return v, r.errs.OrNil()
}

// report collects what is wrong.
type report struct{ errs Errors }

func (r *report) fail(field, format string, args ...any) {
	r.errs = append(r.errs, &Error{Field: strings.TrimPrefix(field, "."), Text: fmt.Sprintf(format, args...)})
}

var varType = reflect.TypeFor[Var]()

// walk holds a value against the type that it is for.
func (r *report) walk(have any, want reflect.Type, at string) {
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if have == nil {
		return // as if it weren't there
	}
	if want == varType {
		if _, object := have.(map[string]any); !object {
			r.scalar(have, at)
			return
		}
		want = reflect.TypeFor[varObject]()
	}
	ok := true
	switch want.Kind() {
	case reflect.Struct:
		object, is := have.(map[string]any)
		if ok = is; ok {
			r.fields(object, want, at)
		}
	case reflect.Map:
		object, is := have.(map[string]any)
		if ok = is; ok {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				r.walk(object[key], want.Elem(), at+"."+key)
			}
		}
	case reflect.Slice:
		list, is := have.([]any)
		if ok = is; ok {
			for i, one := range list {
				r.walk(one, want.Elem(), fmt.Sprintf("%s[%d]", at, i))
			}
		}
	case reflect.String:
		_, ok = have.(string)
	case reflect.Bool:
		_, ok = have.(bool)
	case reflect.Int:
		n, is := have.(json.Number)
		number, err := strconv.Atoi(n.String())
		ok = is && err == nil && number <= math.MaxInt32 && number >= math.MinInt32
	case reflect.Interface:
		r.scalar(have, at)
	}
	if !ok {
		r.fail(at, "want %s, have %s", kindWord(want), shown(have))
	}
}

// fields looks for fields that aren't known, and goes on with the others.
func (r *report) fields(object map[string]any, want reflect.Type, at string) {
	known := map[string]reflect.Type{}
	for i := range want.NumField() {
		name, _, _ := strings.Cut(want.Field(i).Tag.Get("json"), ",")
		known[name] = want.Field(i).Type
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		typ, ok := known[name]
		if !ok {
			r.fail(at+"."+name, "is no field; %s", suggest.DidYouMean(name, slices.Sorted(maps.Keys(known))))
			continue
		}
		r.walk(object[name], typ, at+"."+name)
	}
}

// scalar takes what a literal may be.
func (r *report) scalar(have any, at string) {
	switch have.(type) {
	case string, bool, json.Number:
	default:
		r.fail(at, "want a value, or secretKeyRef or configMapKeyRef, have %s", shown(have))
	}
}

func kindWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "fields"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	}
	return "a text"
}

// shown is what stands somewhere, without saying all of it: it may be a secret.
func shown(have any) string {
	switch v := have.(type) {
	case map[string]any:
		return "fields"
	case []any:
		return "a list"
	case string:
		return "a text"
	case json.Number:
		return v.String()
	}
	return fmt.Sprint(have)
}

// literal is a scalar as a text.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// keys are the names in a Secret or ConfigMap.
func keys(data map[string]string) string {
	if len(data) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(data)), ", ")
}
