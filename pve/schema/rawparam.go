package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// rawParam is a parameter as the schema files spell it.
type rawParam struct {
	Type                 string
	Format               json.RawMessage // a name, or in 8.4 the property string's keys
	FormatProperties     formatKeys      `json:"format-properties"`
	Optional             flag
	Default              literal
	Enum                 []literal
	Minimum, Maximum     *literal
	MinLength, MaxLength *int
	Pattern              string
	Requires             string
	Items                *rawParam
	Properties           map[string]*rawParam
	AdditionalProperties *flag
	AllOf, OneOf         []*rawParam
	InstanceType         string    `json:"instance-type"`
	InstanceTypes        []string  `json:"instance-types"`
	TypeProperty         string    `json:"type-property"`
	TypePropertySchema   *rawParam `json:"type-property-schema"`
	DefaultKey           flag      `json:"default_key"`
	Alias                string
	KeyAlias             string
	XIndex               []int `json:"x-index"`
}

// formatKeys are the keys of a named format; nil when the file says "code".
type formatKeys map[string]*rawParam

func (f *formatKeys) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	return json.Unmarshal(data, (*map[string]*rawParam)(f))
}

// flag is a boolean spelled 1, "1", 0 or "".
type flag bool

func (f *flag) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "1", `"1"`, "true":
		*f = true
	case "0", `"0"`, `""`, "false", "null":
		*f = false
	default:
		return fmt.Errorf("flag %s not understood", data)
	}
	return nil
}

// literal is a string or a number, kept as text.
type literal string

func (l *literal) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		*l = literal(s)
		return err
	}
	if string(data) != "null" {
		*l = literal(data)
	}
	return nil
}

func (s *Schema) param(name string, raw *rawParam) *Param {
	p := &Param{
		Name: name, Type: raw.Type, Optional: bool(raw.Optional), Default: string(raw.Default),
		MinLength: raw.MinLength, MaxLength: raw.MaxLength,
		Pattern: raw.Pattern, Requires: raw.Requires,
		DefaultKey: bool(raw.DefaultKey), Alias: raw.Alias, KeyAlias: raw.KeyAlias,
		schema: s, open: raw.AdditionalProperties == nil || bool(*raw.AdditionalProperties),
		instanceType: raw.InstanceType, instanceTypes: raw.InstanceTypes, typeProperty: raw.TypeProperty,
	}
	for _, e := range raw.Enum {
		p.Enum = append(p.Enum, string(e))
	}
	p.Min, p.Max = limit(raw.Minimum), limit(raw.Maximum)
	if raw.Pattern != "" {
		p.pattern = perlPattern("^" + raw.Pattern + "$")
	}
	s.setFormat(p, raw)
	if raw.Items != nil {
		p.Items = s.param("", raw.Items)
	}
	if raw.Properties != nil {
		p.object = newObject(s, raw.Properties)
	}
	for _, r := range raw.AllOf {
		p.allOf = append(p.allOf, s.param("", r))
	}
	for _, r := range raw.OneOf {
		p.oneOf = append(p.oneOf, s.param("", r))
	}
	if raw.TypePropertySchema != nil {
		p.typeSchema = s.param(raw.TypeProperty, raw.TypePropertySchema)
	}
	p.family = strings.HasSuffix(name, "[n]")
	if len(raw.XIndex) == 2 {
		p.Index = [2]int{raw.XIndex[0], raw.XIndex[1]}
	}
	return p
}

// inlineFormat gives the keys of a property string that has no name.
func (raw *rawParam) inlineFormat() formatKeys {
	if raw.FormatProperties != nil {
		return raw.FormatProperties
	}
	if len(raw.Format) == 0 || raw.Format[0] != '{' {
		return nil
	}
	var keys map[string]*rawParam
	_ = json.Unmarshal(raw.Format, &keys) // already scanned as valid
	return keys
}

func (s *Schema) setFormat(p *Param, raw *rawParam) {
	if len(raw.Format) > 0 && raw.Format[0] == '"' {
		_ = json.Unmarshal(raw.Format, &p.Format)
		s.named[p.Format] = nil // filled in when all formats are there
		p.FormatProps = s.formats[p.Format]
	}
	if keys := raw.inlineFormat(); keys != nil {
		p.FormatProps = s.propFormat("", keys)
	}
}

func (s *Schema) propFormat(name string, raw map[string]*rawParam) *PropFormat {
	f := &PropFormat{Name: name, object: newObject(s, raw), combined: map[string]string{}}
	for key, p := range f.object.props {
		if p.DefaultKey {
			f.DefaultKey = key
		}
		if p.Alias != "" && p.KeyAlias != "" {
			f.combined[p.KeyAlias] = p.Alias
		}
	}
	return f
}

func newObject(s *Schema, raw map[string]*rawParam) *object {
	o := &object{props: make(map[string]*Param, len(raw))}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		p := s.param(name, raw[name])
		o.props[name] = p
		if !p.Optional && p.Alias == "" {
			o.required = append(o.required, name)
		}
	}
	return o
}

func limit(l *literal) *Limit {
	if l == nil {
		return nil
	}
	v, err := strconv.ParseFloat(string(*l), 64)
	if err != nil {
		return nil
	}
	return &Limit{Text: string(*l), Value: v}
}
