package terraform

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// recall reads a state. What a machine got at its first boot isn't needed for it: the files that it was made of may be gone by now, or be other
// ones, and that keeps nobody from changing or destroying the machine.
func (r *base) recall(raw tftypes.Value) (w part, known bool, diags diag.Diagnostics) {
	w, known, diags = r.kind.parse(raw)
	if _, is := r.kind.(*machine); !is || !known || !diags.HasError() {
		return w, known, diags
	}
	bare, err := withoutFirstBoot(raw)
	if err != nil {
		return w, known, diags
	}
	if less, _, wrong := r.kind.parse(bare); !wrong.HasError() && less.hidden {
		return less, true, wrong
	}
	return w, known, diags
}

// withoutFirstBoot is a state without what its machines got at their first boot, as it would be if that was a secret.
func withoutFirstBoot(raw tftypes.Value) (tftypes.Value, error) {
	return tftypes.Transform(raw, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if steps := at.Steps(); len(steps) == 3 && steps[0] == tftypes.AttributeName("user_data") {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
}
