package terraform_test

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// withoutSecrets is a value without what is write-only.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case values:
		out := values{}
		for k, x := range v {
			if !strings.HasSuffix(k, "_wo") {
				out[k] = withoutSecrets(x)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, withoutSecrets(x))
		}
		return out
	}
	return v
}

// asPlanned: what was known when planning is so now; else Terraform calls the provider defective.
func (c *client) asPlanned(s step, now tftypes.Value) {
	c.Helper()
	planned, err := s.planned.Unmarshal(c.types[s.of.kind])
	if err != nil {
		c.Fatal(err)
	}
	err = tftypes.Walk(planned, func(at *tftypes.AttributePath, want tftypes.Value) (bool, error) {
		if !want.IsKnown() {
			return false, nil
		}
		have, _, err := tftypes.WalkAttributePath(now, at)
		if err != nil {
			return false, err
		}
		switch have := have.(tftypes.Value); {
		case want.IsNull() != have.IsNull(), want.Type().Is(tftypes.String) && !want.Equal(have), want.Type().Is(tftypes.Number) && !want.Equal(have), want.Type().Is(tftypes.Bool) && !want.Equal(have):
			c.Errorf("%s was planned to be %s, and is %s", at, want, have)
		}
		return true, nil
	})
	if err != nil {
		c.Error(err)
	}
}

func packed(c *client, kind tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
	c.Helper()
	d, err := tfprotov6.NewDynamicValue(kind, v)
	if err != nil {
		c.Fatal(err)
	}
	return &d
}

// valueOf is a value of a type.
func valueOf(kind tftypes.Type, v any) tftypes.Value {
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(kind, nil)
	case unknown:
		return tftypes.NewValue(kind, tftypes.UnknownValue)
	case tftypes.Value:
		return v
	case values:
		all := map[string]tftypes.Value{}
		if of, ok := kind.(tftypes.Map); ok {
			for name, item := range v {
				all[name] = valueOf(of.ElementType, item)
			}
			return tftypes.NewValue(kind, all)
		}
		of := kind.(tftypes.Object)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if of.AttributeTypes[name] == nil {
				panic("there is no attribute " + name)
			}
		}
		for name, t := range of.AttributeTypes {
			all[name] = valueOf(t, v[name])
		}
		return tftypes.NewValue(kind, all)
	case []any:
		all := []tftypes.Value{}
		for _, item := range v {
			all = append(all, valueOf(kind.(tftypes.List).ElementType, item))
		}
		return tftypes.NewValue(kind, all)
	}
	return tftypes.NewValue(kind, v)
}

// plannedVMIDs are the VMIDs that a plan shows.
func (c *client) plannedVMIDs(s step) (list []int) {
	c.Helper()
	v, err := s.planned.Unmarshal(c.types[s.of.kind])
	if err != nil {
		c.Fatal(err)
	}
	return c.vmids(v)
}

// vmids are the VMIDs of the machines of a resource.
func (c *client) vmids(of tftypes.Value) (list []int) {
	c.Helper()
	found, _, err := tftypes.WalkAttributePath(of, tftypes.NewAttributePath().WithAttributeName("machines"))
	var machines []tftypes.Value
	if err == nil {
		err = found.(tftypes.Value).As(&machines)
	}
	for _, m := range machines {
		var all map[string]tftypes.Value
		var id big.Float
		if err == nil {
			err = m.As(&all)
		}
		if err == nil {
			err = all["vmid"].As(&id)
		}
		n, _ := id.Int64()
		list = append(list, int(n))
	}
	if err != nil {
		c.Fatal(err)
	}
	return list
}
