package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// details is what a plan's text leaves out: each action with all that it says, and what is known of waits, refusals and looks.
func details(p Plan) string {
	var b strings.Builder
	for _, o := range p.Objects {
		var lines []string
		add := func(name string, v any) {
			if text := dump(reflect.ValueOf(v)); text != "" {
				lines = append(lines, name+" "+text)
			}
		}
		for _, s := range o.Steps {
			add(fmt.Sprintf("%d.", s.N), s.Action)
		}
		for _, r := range o.Refused {
			if r.Late {
				lines = append(lines, "refused late: "+r.What)
			}
			add("pending", r.Pending)
		}
		if o.Wait != nil {
			add("wait for", Wait{Task: o.Wait.Task, Guest: o.Wait.Guest})
		}
		add("memory", o.Memory)
		add("left over", o.LeftOver)
		add("look for", Look{IDs: o.Look.IDs})
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s\n  %s\n", o.Owner.Key, strings.Join(lines, "\n  "))
		}
	}
	return b.String()
}

// dump is a value as text, without the fields that are zero; empty: all of it is.
func dump(v reflect.Value) string {
	if !v.IsValid() || v.IsZero() {
		return ""
	}
	if m, ok := v.Interface().(model.Owner); ok {
		return m.Set + " " + m.Key.String()
	}
	var parts []string
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.Elem().IsZero() {
			return v.Elem().Type().Name() + "{}"
		}
		return dump(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				parts = append(parts, f.Name+": "+dump(v.Field(i)))
			}
		}
		return v.Type().Name() + "{" + strings.Join(parts, ", ") + "}"
	case reflect.Map:
		for _, k := range slices.SortedFunc(maps.Keys(mapOf(v)), strings.Compare) {
			parts = append(parts, k+": "+dump(mapOf(v)[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, dump(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

func mapOf(v reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		out[fmt.Sprint(k.Interface())] = v.MapIndex(k)
	}
	return out
}
