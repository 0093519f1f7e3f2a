package terraform

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// errUnknown says that a value has parts that aren't known yet.
var errUnknown = errors.New("it isn't known yet")

// plain is a value of any type as Go has it: nil, string, bool, int64, float64, []any and
// map[string]any. What an object has as null isn't set, and is left out.
func plain(ctx context.Context, v types.Dynamic) (any, error) {
	raw, err := v.ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	return plainValue(raw)
}

func plainValue(v tftypes.Value) (any, error) {
	switch {
	case !v.IsKnown():
		return nil, errUnknown
	case v.IsNull():
		return nil, nil
	case v.Type().Is(tftypes.String):
		var s string
		err := v.As(&s)
		return s, err
	case v.Type().Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return b, err
	case v.Type().Is(tftypes.Number):
		n := &big.Float{}
		err := v.As(&n)
		if whole, exact := n.Int64(); exact == big.Exact {
			return whole, err
		}
		part, _ := n.Float64()
		return part, err
	}
	switch v.Type().(type) {
	case tftypes.Object, tftypes.Map:
		return plainMap(v)
	case tftypes.List, tftypes.Set, tftypes.Tuple:
		return plainList(v)
	}
	return nil, fmt.Errorf("a value of type %s can't be used here", v.Type())
}

func plainMap(v tftypes.Value) (any, error) {
	var items map[string]tftypes.Value
	if err := v.As(&items); err != nil {
		return nil, err
	}
	all := map[string]any{}
	for name, item := range items {
		value, err := plainValue(item)
		if err != nil {
			return nil, err
		}
		if value != nil {
			all[name] = value
		}
	}
	return all, nil
}

func plainList(v tftypes.Value) (any, error) {
	var items []tftypes.Value
	if err := v.As(&items); err != nil {
		return nil, err
	}
	all := []any{}
	for _, item := range items {
		value, err := plainValue(item)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}
