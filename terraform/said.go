package terraform

import (
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// valueOf is the opposite of manifestOf: an object whose attributes say what some fields of a manifest
// say. All others are null.
func valueOf(fields []field, kind tftypes.Type, said map[string]any) (tftypes.Value, error) {
	of, ok := kind.(tftypes.Object)
	if !ok {
		return tftypes.Value{}, fmt.Errorf("%s is no object", kind)
	}
	values := map[string]tftypes.Value{}
	for name, t := range of.AttributeTypes {
		values[name] = tftypes.NewValue(t, nil)
	}
	for _, f := range fields {
		v, there := said[f.key]
		if !there || f.secret {
			continue
		}
		value, err := f.value(of.AttributeTypes[f.name], v)
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("%s: %w", f.name, err)
		}
		values[f.name] = value
	}
	return tftypes.NewValue(kind, values), nil
}

// value is what a manifest says in a field, as an attribute has it.
func (f field) value(kind tftypes.Type, v any) (tftypes.Value, error) {
	switch f.shape {
	case object:
		said, _ := v.(map[string]any)
		return valueOf(f.fields, kind, said)
	case list:
		of, items := kind.(tftypes.List), []tftypes.Value{}
		all, _ := v.([]any)
		for _, item := range all {
			value, err := f.item.value(of.ElementType, item)
			if err != nil {
				return tftypes.Value{}, err
			}
			items = append(items, value)
		}
		return tftypes.NewValue(kind, items), nil
	case mapping:
		of, items := kind.(tftypes.Map), map[string]tftypes.Value{}
		all, _ := v.(map[string]any)
		for name, item := range all {
			value, err := f.item.value(of.ElementType, item)
			if err != nil {
				return tftypes.Value{}, err
			}
			items[name] = value
		}
		return tftypes.NewValue(kind, items), nil
	}
	return f.scalarValue(v)
}

func (f field) scalarValue(v any) (tftypes.Value, error) {
	switch f.shape {
	case boolean:
		if b, ok := v.(bool); ok {
			return tftypes.NewValue(tftypes.Bool, b), nil
		}
	case integer, number:
		switch n := v.(type) {
		case int:
			return tftypes.NewValue(tftypes.Number, big.NewFloat(float64(n))), nil
		case float64:
			return tftypes.NewValue(tftypes.Number, big.NewFloat(n)), nil
		}
	default:
		return tftypes.NewValue(tftypes.String, fmt.Sprint(v)), nil
	}
	return tftypes.Value{}, fmt.Errorf("%v (%T) isn't what the field has", v, v)
}
