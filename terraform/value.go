package terraform

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// saidOf is what a resource says, and its name, which is empty as long as not all of it is known.
func saidOf(fields []field, raw tftypes.Value) (said map[string]any, name string, diags diag.Diagnostics) {
	said, known, err := manifestOf(fields, raw)
	if err != nil {
		diags.AddError("The resource can't be read", err.Error())
	}
	name, there := said["name"].(string)
	if there && name == "" {
		diags.AddAttributeError(path.Root("name"), "name is empty", "Want a name of lower-case letters, digits, - and .")
	}
	if err != nil || !known {
		name = ""
	}
	return said, name, diags
}

// manifestOf is what some fields of an object say, as a manifest has it. Fields that aren't set are
// left out. It reports false if something isn't known yet.
func manifestOf(fields []field, v tftypes.Value) (map[string]any, bool, error) {
	out := map[string]any{}
	if v.IsNull() {
		return out, true, nil
	}
	if !v.IsKnown() {
		return out, false, nil
	}
	var values map[string]tftypes.Value
	if err := v.As(&values); err != nil {
		return nil, false, err
	}
	known := true
	for _, f := range fields {
		value, there := values[f.name]
		if !there || value.IsNull() {
			continue
		}
		said, sure, err := f.manifest(value)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, twice := out[f.key]; twice {
			return nil, false, fmt.Errorf("%s and %s say the same thing: give one of them", strings.TrimSuffix(f.name, writeOnly), f.name)
		}
		if known = known && sure; sure {
			out[f.key] = said
		}
	}
	return out, known, nil
}

// manifest is what a value says, as a manifest has it.
func (f field) manifest(v tftypes.Value) (any, bool, error) {
	if !v.IsKnown() {
		return nil, false, nil
	}
	switch f.shape {
	case object:
		return manifestOf(f.fields, v)
	case list:
		var items []tftypes.Value
		if err := v.As(&items); err != nil {
			return nil, false, err
		}
		return f.list(items)
	case mapping:
		var items map[string]tftypes.Value
		if err := v.As(&items); err != nil {
			return nil, false, err
		}
		return f.mapping(items)
	}
	said, err := f.scalar(v)
	return said, true, err
}

func (f field) list(items []tftypes.Value) (any, bool, error) {
	out, known := make([]any, 0, len(items)), true
	for i, item := range items {
		if item.IsNull() {
			return nil, false, fmt.Errorf("[%d] is null: leave it out", i)
		}
		said, sure, err := f.item.manifest(item)
		if err != nil {
			return nil, false, fmt.Errorf("[%d]: %w", i, err)
		}
		out, known = append(out, said), known && sure
	}
	return out, known, nil
}

func (f field) mapping(items map[string]tftypes.Value) (any, bool, error) {
	out, known := map[string]any{}, true
	for name, item := range items {
		if item.IsNull() {
			continue // as an attribute that is null
		}
		said, sure, err := f.item.manifest(item)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", name, err)
		}
		out[name], known = said, known && sure
	}
	return out, known, nil
}

func (f field) scalar(v tftypes.Value) (any, error) {
	switch f.shape {
	case boolean:
		var b bool
		err := v.As(&b)
		return b, err
	case integer, number:
		n := &big.Float{}
		if err := v.As(&n); err != nil {
			return nil, err
		}
		if f.shape == integer {
			whole, exact := n.Int64()
			if exact != big.Exact { // which wasn't known when it was validated
				return nil, fmt.Errorf("want a whole number, have %s", n.Text('g', 10))
			}
			return whole, nil
		}
		part, _ := n.Float64()
		return part, nil
	}
	var s string
	err := v.As(&s)
	return s, err
}
