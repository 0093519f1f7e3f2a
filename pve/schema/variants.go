package schema

import (
	"maps"
	"slices"
)

// allOf checks a value that must satisfy several objects at once; a key is
// unknown when none of them declares it.
func (v *verifier) allOf(value map[string]any, p *Param, path string, strays map[string]bool) {
	var nowhere map[string]bool
	for i, part := range p.allOf {
		here := map[string]bool{}
		v.prop(value, part, path, "", here)
		if i == 0 {
			nowhere = here
			continue
		}
		maps.DeleteFunc(nowhere, func(k string, _ bool) bool { return !here[k] })
	}
	v.spread(path, nowhere, strays)
}

// oneOf checks a value whose type property selects the object that it must be.
func (v *verifier) oneOf(value map[string]any, p *Param, path string, strays map[string]bool) {
	others := map[string]bool{}
	for k := range value {
		if k != p.typeProperty {
			others[k] = true
		}
	}
	at := under(path, p.typeProperty)
	if value[p.typeProperty] == nil {
		v.spread(path, others, strays)
		if !p.Optional {
			v.prop(nil, p.typeSchema, at, "", strays)
		}
		return
	}
	kind := verifier{schema: v.schema}
	kind.prop(value[p.typeProperty], p.typeSchema, at, "", strays)
	if len(kind.errs) > 0 {
		for _, text := range kind.errs {
			v.add(at, text)
		}
		v.spread(path, others, strays)
		return
	}
	name, _ := value[p.typeProperty].(string)
	for _, variant := range p.oneOf {
		if variant.instanceType != name {
			continue
		}
		inside := under(path, "oneOf["+name+"]")
		stray := map[string]bool{}
		v.prop(value, variant, inside, "", stray)
		delete(stray, p.typeProperty)
		v.spread(inside, stray, strays)
		return
	}
	v.add(path, "'"+name+"' is not a valid oneOf variant")
}

// spread hands unknown keys on to the enclosing check, or reports them.
func (v *verifier) spread(path string, keys, strays map[string]bool) {
	if strays != nil {
		maps.Copy(strays, keys)
		return
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		v.add(under(path, k), unknown)
	}
}
