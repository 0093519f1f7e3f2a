package plan

import "reflect"

// copy is a world of its own that is the same, so that one that took long to make can be changed in many ways.
func (w *world) copy() *world {
	c := *w
	c.guests, c.files, c.nodes, c.stores = deep(w.guests), deep(w.files), deep(w.nodes), deep(w.stores)
	c.fails, c.rules, c.ha, c.dirs, c.bad, c.snips = deep(w.fails), deep(w.rules), deep(w.ha), deep(w.dirs), deep(w.bad), deep(w.snips)
	c.tasks, c.hidden, c.log = deep(w.tasks), deep(w.hidden), deep(w.log)
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
