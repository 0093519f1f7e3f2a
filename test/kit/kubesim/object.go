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
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var out Object
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
