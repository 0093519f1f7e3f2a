package kubesim

import (
	"encoding/json"
)

// Object is an object as JSON has it.
type Object map[string]any

// Copy is an object that shares nothing with the first.
func (o Object) Copy() Object {
	if o == nil {
		return nil
	}
	out, _ := copied(map[string]any(o)).(map[string]any)
	return out
}

// copied is a value as JSON would give it back: numbers are floats, and lists and objects are plain ones.
func copied(value any) any {
	switch v := value.(type) {
	case nil, string, bool, float64:
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case Object:
		return copied(map[string]any(v))
	case map[string]any:
		if v == nil {
			return nil
		}
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = copied(inner)
		}
		return out
	case []any:
		if v == nil {
			return nil
		}
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = copied(inner)
		}
		return out
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func (o Object) meta() map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

func (o Object) text(field string) string { s, _ := o.meta()[field].(string); return s }

// Name of the object.
func (o Object) Name() string { return o.text("name") }

// Namespace of the object.
func (o Object) Namespace() string { return o.text("namespace") }

// UID of the object.
func (o Object) UID() string { return o.text("uid") }

// Deleting reports whether the object is to go.
func (o Object) Deleting() bool { return o.text("deletionTimestamp") != "" }

// Generation counts the changes of the spec.
func (o Object) Generation() int64 {
	switch n := o.meta()["generation"].(type) {
	case float64:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

// Finalizers are what holds the object.
func (o Object) Finalizers() []any { list, _ := o.meta()["finalizers"].([]any); return list }

// Hold has the object held by these finalizers, and no others.
func (o Object) Hold(finalizers ...any) { o.meta()["finalizers"] = finalizers }

// Annotation of the object.
func (o Object) Annotation(name string) string {
	m, _ := o.meta()["annotations"].(map[string]any)
	s, _ := m[name].(string)
	return s
}

// Annotate sets an annotation; an empty value takes it off.
func (o Object) Annotate(name, value string) {
	m, ok := o.meta()["annotations"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o.meta()["annotations"] = m
	}
	if m[name] = value; value == "" {
		delete(m, name)
	}
}
