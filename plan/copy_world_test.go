package plan

import "reflect"

// copy is a world of its own that is the same, so that one that took long to make can be changed in many ways.
func (w *world) copy() *world {
	c, on := *w, *w.World
	c.World = &on
	c.Guests, c.Files, c.Nodes, c.Storages = deep(w.Guests), deep(w.Files), deep(w.Nodes), deep(w.Storages)
	c.fails, c.Rules, c.HA, c.Dirs, c.bad, c.Snippets = deep(w.fails), deep(w.Rules), deep(w.HA), deep(w.Dirs), deep(w.bad), deep(w.Snippets)
	c.tasks, c.hidden, c.Log = deep(w.tasks), deep(w.hidden), deep(w.Log)
	return &c
}

// deep is a value that shares nothing with the other.
func deep[T any](v T) T {
	return deepValue(reflect.ValueOf(&v).Elem()).Interface().(T)
}

func deepValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deepValue(v.Elem()))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for _, k := range v.MapKeys() {
				out.SetMapIndex(k, deepValue(v.MapIndex(k)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deepValue(v.Index(i)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(deepValue(v.Field(i)))
			}
		}
	}
	return out
}
