package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PropFormat is the format of a property string: "virtio=AA:…,bridge=vmbr0".
type PropFormat struct {
	Name       string // "" when Proxmox has no name for it
	DefaultKey string // the key that may be left out, "" when there is none

	object   *object
	combined map[string]string // key → the key printed after it: model → macaddr gives virtio=AA:…
}

// Keys lists the declared keys, aliases included, sorted.
func (f *PropFormat) Keys() []string { return slices.Sorted(maps.Keys(f.object.props)) }

// Key gives the declaration of a key, or nil.
func (f *PropFormat) Key(name string) *Param { return f.object.props[name] }

// Props are the keys and values of a property string, in the order in which
// they were set. Aliases are resolved and booleans are "0" or "1".
type Props struct {
	keys   []string
	values map[string]string
}

// NewProps makes Props from pairs of key and value.
func NewProps(pairs ...string) *Props {
	p := &Props{}
	for i := 0; i+1 < len(pairs); i += 2 {
		p.Set(pairs[i], pairs[i+1])
	}
	return p
}

// Get gives the value of a key, "" when there is none.
func (p *Props) Get(key string) string {
	if p == nil {
		return ""
	}
	return p.values[key]
}

// Has reports whether the key is there.
func (p *Props) Has(key string) bool {
	if p == nil {
		return false
	}
	_, ok := p.values[key]
	return ok
}

// Set gives a key its value; a new key comes last.
func (p *Props) Set(key, value string) {
	if p.values == nil {
		p.values = map[string]string{}
	}
	if _, ok := p.values[key]; !ok {
		p.keys = append(p.keys, key)
	}
	p.values[key] = value
}

// Del takes a key away.
func (p *Props) Del(key string) {
	if !p.Has(key) {
		return
	}
	delete(p.values, key)
	p.keys = slices.DeleteFunc(p.keys, func(k string) bool { return k == key })
}

// Keys lists the keys in order.
func (p *Props) Keys() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.keys)
}

// Clone copies the Props.
func (p *Props) Clone() *Props {
	if p == nil {
		return &Props{}
	}
	return &Props{keys: slices.Clone(p.keys), values: maps.Clone(p.values)}
}

// PropsError says what is wrong inside a property string, by "net0.model".
type PropsError struct{ Fields Errors }

func (e *PropsError) Error() string {
	var b strings.Builder
	b.WriteString("format error\n")
	for _, k := range slices.Sorted(maps.Keys(e.Fields)) {
		b.WriteString(k + ": " + e.Fields[k] + "\n")
	}
	return b.String()
}

// ParseProps reads and checks a property string. The name ("net0") is for the
// error, whose text is Proxmox' own, final newline included.
func (p *Param) ParseProps(name, value string) (*Props, error) {
	if p.FormatProps == nil {
		return nil, fmt.Errorf("%s is not a property string", name)
	}
	return p.FormatProps.parse(p.schema, value, name)
}

// PrintProps writes a property string as Proxmox would store it.
func (p *Param) PrintProps(props *Props) string {
	if p.FormatProps == nil {
		return ""
	}
	return p.FormatProps.Print(props)
}

func (f *PropFormat) parse(s *Schema, text, path string) (*Props, error) {
	props := &Props{}
	usedDefault := false
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimFunc(part, isSpace) == "" {
			continue
		}
		key, value, hasKey := strings.Cut(part, "=")
		switch {
		case hasKey:
			// Perl's (.+)$ drops a final newline and doesn't reach beyond any other.
			value = strings.TrimSuffix(value, "\n")
			if key == "" || value == "" || strings.Contains(value, "\n") {
				return nil, fail("missing key in comma-separated list property")
			}
			if err := f.set(s, props, key, value); err != nil {
				return nil, err
			}
		case f.DefaultKey == "":
			return nil, fail("value without key, but schema does not define a default key")
		case usedDefault || perlTrue(props.Get(f.DefaultKey)):
			return nil, fail("duplicate key in comma-separated list property: %s", f.DefaultKey)
		default:
			usedDefault = true
			if !s.facts.v8 {
				part = boolean(f.Key(f.DefaultKey), part)
			}
			props.Set(f.DefaultKey, part)
		}
	}
	v := verifier{schema: s}
	values := make(map[string]any, len(props.keys))
	for k, val := range props.values {
		values[k] = val
	}
	v.object(path, f.object, values, false, nil)
	if len(v.errs) > 0 {
		return nil, &PropsError{v.errs}
	}
	if validate := validators[f.Name]; validate != nil {
		if err := validate(s, props); err != nil {
			return nil, err
		}
	}
	return props, nil
}

func (f *PropFormat) set(s *Schema, props *Props, key, value string) error {
	if props.Has(key) {
		return fail("duplicate key in comma-separated list property: %s", key)
	}
	p := f.Key(key)
	if p != nil && p.Alias != "" {
		if p.KeyAlias != "" {
			if props.Has(p.KeyAlias) {
				return fail("key alias '%s' is already defined", p.KeyAlias)
			}
			props.Set(p.KeyAlias, key)
		}
		key, p = p.Alias, f.Key(p.Alias)
		if props.Has(key) && !s.facts.v8 {
			return fail("key '%s' is already defined (via alias)", key)
		}
	}
	props.Set(key, boolean(p, value))
	return nil
}

// boolean maps the spellings that property strings allow to 0 and 1.
func boolean(p *Param, value string) string {
	if p == nil || p.Type != "boolean" {
		return value
	}
	switch strings.ToLower(strings.TrimSuffix(value, "\n")) {
	case "1", "on", "yes", "true":
		return "1"
	case "0", "off", "no", "false":
		return "0"
	}
	return value
}

// Print writes the default key first, then required keys, then the others,
// each sorted.
func (f *PropFormat) Print(props *Props) string {
	var parts []string
	done := map[string]bool{}
	add := func(key string) {
		if done[key] || !props.Has(key) {
			return
		}
		done[key] = true
		text := f.value(key, props)
		if second := f.combined[key]; second != "" && props.Has(second) {
			done[second] = true
			parts = append(parts, text+"="+f.value(second, props))
			return
		}
		if key != f.DefaultKey {
			text = key + "=" + text
		}
		parts = append(parts, text)
	}
	add(f.DefaultKey)
	keys := slices.Sorted(slices.Values(props.Keys()))
	for _, key := range keys {
		if p := f.Key(key); p != nil && !p.Optional {
			add(key)
		}
	}
	for _, key := range keys {
		add(key)
	}
	return strings.Join(parts, ",")
}

func (f *PropFormat) value(key string, props *Props) string {
	value := props.Get(key)
	if p := f.Key(key); p != nil && p.Format == "disk-size" {
		if n, ok := ParseSize(value); ok {
			return FormatSize(n)
		}
	}
	return value
}
