package written

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// SameSet finds provider blocks of a configuration's root module, which is in a folder, that say one set for one address. Of each it returns
// where it and the first such block are. What isn't written as a text isn't seen.
func SameSet(dir, name string) (list []string) {
	first := map[string]string{}
	for _, b := range open(dir).of("provider") {
		if b.Labels[0] != name {
			continue
		}
		all := attributes(b)
		set, said := text(all["set"])
		if !said {
			continue
		}
		address, known := text(all["endpoint"])
		if all["endpoint"] != nil && !known || all["endpoints"] != nil {
			continue
		}
		where := fmt.Sprintf("%s:%d", b.DefRange.Filename, b.DefRange.Start.Line)
		key := set + " " + address
		if before, twice := first[key]; twice {
			list = append(list, fmt.Sprintf("%s and %s: set = %q", before, where, set))
			continue
		}
		first[key] = where
	}
	return list
}

// text is what an attribute says as a text.
func text(a *hcl.Attribute) (string, bool) {
	if a == nil {
		return "", false
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}
