package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Errors are the texts of a failed verification by field, as Proxmox puts them
// under "errors". The field of the request as a whole is "_root".
type Errors map[string]string

const (
	missing  = "property is missing and it is not optional"
	unknown  = "property is not defined in schema and the schema does not allow additional properties"
	rootPath = "_root"
)

// Verify checks the parameters of a call: those of path, query and body
// together (see [Merge]). Values are string, bool, nil, json.Number, []any or
// map[string]any. Exactly one of the results is nil.
func (ep *Endpoint) Verify(in map[string]any, options ...Option) (Params, Errors) {
	values := make(map[string]any, len(in))
	for k, v := range in {
		values[k] = perlValue(v)
	}
	for k, v := range values {
		if p := ep.root.find(k, values); p != nil {
			values[k] = normalise(p, v)
		}
	}
	v := verifier{schema: ep.schema.with(options)}
	v.prop(values, ep.root, "", "", nil)
	if len(v.errs) > 0 {
		return nil, v.errs
	}
	out := make(Params, len(values))
	for k, val := range values {
		out[k] = verified(val)
	}
	return out, nil
}

// Verify checks one value as if it were given for the parameter under this
// name ("net0"); nil means that it passes.
func (p *Param) Verify(name string, value any, options ...Option) Errors {
	v := verifier{schema: p.schema.with(options)}
	v.prop(normalise(p, perlValue(value)), p, name, "", nil)
	return v.errs
}

// Option tells a check what the schema can't know.
type Option func(s *Schema)

// CPUModels sets which custom CPU models a cluster has, by their names without
// "custom-". Without it any custom model passes.
func CPUModels(has func(name string) bool) Option {
	return func(s *Schema) { s.hasCPUModel = has }
}

// with gives the schema to check against.
func (s *Schema) with(options []Option) *Schema {
	if len(options) == 0 {
		return s
	}
	special := *s
	for _, option := range options {
		option(&special)
	}
	return &special
}

// normalise joins arrays for a list format and makes a single value an array
// where one is wanted: forms can't tell them apart. Perl's false values miss out.
func normalise(p *Param, value any) any {
	switch v := value.(type) {
	case []any:
		if p.Type == "string" && strings.HasSuffix(p.Format, "-list") {
			parts := make([]string, len(v))
			for i, e := range v {
				parts[i], _ = scalar(e)
			}
			return strings.Join(parts, ",")
		}
	case string:
		if p.Type == "array" && perlTrue(v) {
			return []any{v}
		}
	}
	return value
}

type verifier struct {
	schema *Schema
	errs   Errors
}

func (v *verifier) add(path, text string) {
	if v.errs == nil {
		v.errs = Errors{}
	}
	if path == "" {
		path = rootPath
	}
	if old := v.errs[path]; old != "" {
		text = old + `\n` + text // Proxmox joins with a backslash and an n
	}
	v.errs[path] = text
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// prop checks a value. With strays, keys that an object doesn't declare are put
// there instead of being errors.
func (v *verifier) prop(value any, p *Param, path, instance string, strays map[string]bool) {
	optional := p.Optional
	switch {
	case p.oneOf != nil && p.typeSchema == nil:
		optional = true
		for _, variant := range p.oneOf {
			if instance != "" && slices.Contains(variant.instanceTypes, instance) {
				optional = variant.Optional
				v.prop(value, variant, path, "", nil)
			}
		}
	case instance != "":
		optional = optional || !slices.Contains(p.instanceTypes, instance)
	}
	if p.Alias != "" {
		return
	}
	if value == nil {
		if !optional {
			v.add(path, missing)
		}
		return
	}
	if text := typeError(p.Type, value); text != "" {
		v.add(path, text)
		return
	}
	switch val := value.(type) {
	case string:
		if p.allOf != nil || p.oneOf != nil && p.typeSchema != nil {
			v.add(path, "value must be an object")
			return
		}
		if text := p.textError(v.schema, val, path); text != "" {
			v.add(path, text)
		}
	case []any:
		if p.Items != nil {
			for i, e := range val {
				v.prop(e, p.Items, path+"["+strconv.Itoa(i)+"]", "", nil)
			}
		}
	case map[string]any:
		switch {
		case p.object != nil:
			v.object(path, p.object, val, p.open, strays)
		case p.allOf != nil:
			v.allOf(val, p, path, strays)
		case p.oneOf != nil:
			v.oneOf(val, p, path, strays)
		}
	}
}

func (v *verifier) object(path string, o *object, value map[string]any, open bool, strays map[string]bool) {
	instance := func(p *Param) string {
		if p.typeProperty == "" {
			return ""
		}
		kind, _ := value[p.typeProperty].(string)
		return kind
	}
	for _, name := range o.required {
		if _, given := value[name]; !given {
			v.prop(nil, o.props[name], under(path, name), instance(o.props[name]), nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		p, at := o.get(name), under(path, name)
		if p != nil {
			v.prop(value[name], p, at, instance(p), nil)
			if p.Requires != "" && value[p.Requires] == nil {
				v.add(under(path, p.Requires), v.requiredBy(at))
			}
			if p.oneOf == nil || slices.ContainsFunc(p.oneOf, func(variant *Param) bool {
				return variant.instanceTypes == nil || slices.Contains(variant.instanceTypes, instance(p))
			}) {
				continue
			}
		}
		switch {
		case open:
		case strays != nil:
			strays[name] = true
		default:
			v.add(at, unknown)
		}
	}
}

func (v *verifier) requiredBy(path string) string {
	if v.schema.facts.v8 {
		return "missing property - '" + path + "' requires this property"
	}
	return "missing property required by '" + path + "'"
}
