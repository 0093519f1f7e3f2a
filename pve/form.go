package pve

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pair is one parameter as it goes over the wire, before escaping.
type pair struct{ key, value string }

// form is a list of parameters, in a fixed order. A repeated key is an array for Proxmox.
type form []pair

// Params are parameters of a [Client.Call]: values are strings, numbers, booleans, secrets,
// or slices of them (the same key repeated).
type Params map[string]any

// escape writes a text for a query or form. Proxmox splits on & and ; and cuts a value at an
// unescaped =, so everything that isn't plainly harmless is escaped.
func escape(b *strings.Builder, text string) {
	const hex = "0123456789ABCDEF"
	for i := range len(text) {
		c := text[i]
		if unreserved(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
}

func escaped(text string) string {
	var b strings.Builder
	escape(&b, text)
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// encode gives the text of a query or of a form body.
func (f form) encode() string {
	var b strings.Builder
	for i, p := range f {
		if i > 0 {
			b.WriteByte('&')
		}
		escape(&b, p.key)
		b.WriteByte('=')
		escape(&b, p.value)
	}
	return b.String()
}

// formOf turns an option struct into parameters. Fields carry a tag pve:"name"; a zero field is
// left out unless it is a pointer that isn't nil. Lists are joined by commas, or repeated with
// pve:"name,repeat". Settings give one parameter for each key, untagged embedded structs are
// taken as if their fields were here.
func formOf(options any) (form, error) {
	if options == nil {
		return nil, nil
	}
	if params, ok := options.(Params); ok {
		return formOfParams(params)
	}
	v := reflect.ValueOf(options)
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("parameters can't be made from a %T", options)
	}
	return formOfStruct(v)
}

func formOfStruct(v reflect.Value) (form, error) {
	var f form
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, opt, _ := strings.Cut(field.Tag.Get("pve"), ",")
		var pairs form
		var err error
		switch {
		case name == "-":
		case field.Anonymous && name == "":
			pairs, err = formOfStruct(v.Field(i))
		case name == "" && field.Type == reflect.TypeFor[Settings]():
			pairs = v.Field(i).Interface().(Settings).form()
		case name == "":
			err = fmt.Errorf("field %s of %v has no parameter name", field.Name, v.Type())
		case !v.Field(i).IsZero():
			pairs, err = pairsOf(name, v.Field(i), opt == "repeat")
		}
		if err != nil {
			return nil, err
		}
		f = append(f, pairs...)
	}
	return f, nil
}

func formOfParams(params Params) (form, error) {
	var f form
	for _, key := range sortedKeys(params) {
		if params[key] == nil {
			continue
		}
		pairs, err := pairsOf(key, reflect.ValueOf(params[key]), true)
		if err != nil {
			return nil, err
		}
		f = append(f, pairs...)
	}
	return f, nil
}

func pairsOf(key string, v reflect.Value, repeat bool) (form, error) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		text, err := wireText(v)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", key, err)
		}
		return form{{key, text}}, nil
	}
	var f form
	var all []string
	for i := range v.Len() {
		text, err := wireText(v.Index(i))
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", key, err)
		}
		f, all = append(f, pair{key, text}), append(all, text)
	}
	if repeat {
		return f, nil
	}
	return form{{key, strings.Join(all, ",")}}, nil
}

// wireText is a value as Proxmox reads it at the top level of a form.
func wireText(v reflect.Value) (string, error) {
	if v.IsValid() && v.CanInterface() {
		switch x := v.Interface().(type) {
		case Secret:
			return x.Reveal(), nil
		case UPID:
			return x.String(), nil
		case time.Time:
			return strconv.FormatInt(x.Unix(), 10), nil
		case time.Duration:
			// Whole seconds, rounded up: half a second of patience is not none.
			return strconv.FormatInt(int64((x+time.Second-1)/time.Second), 10), nil
		}
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		if v.Bool() {
			return "1", nil
		}
		return "0", nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), nil
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), nil
	case reflect.Interface:
		if !v.IsNil() {
			return wireText(v.Elem())
		}
	}
	return "", fmt.Errorf("a %v can't be sent", v.Kind())
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
