package terraform

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// shown is what resources do alike that show machines, in the attribute machines.
type shown struct{}

func (shown) foresee(ctx context.Context, w part, objects []plan.Object, state tfsdk.State, planned *tfsdk.Plan) (diags diag.Diagnostics) {
	was, goesOn := w.there, false
	if !state.Raw.IsNull() {
		diags.Append(state.GetAttribute(ctx, path.Root("machines"), &was)...)
		unfinished, more := isUnfinished(ctx, state)
		diags.Append(more...)
		goesOn = unfinished
	}
	diags.Append(planned.SetAttribute(ctx, path.Root("machines"), foreseen(guests(w.owners), w.wanted.Desired.VMs, objects, was, goesOn))...)
	return diags
}

func (shown) pin(ctx context.Context, w *part, planned tfsdk.Plan) diag.Diagnostics {
	return remember(ctx, w, planned)
}

func (shown) fill(ctx context.Context, s *site.Site, w part, _ map[model.Key]site.Outcome, state *tfsdk.State) (diags diag.Diagnostics) {
	list, err := found(ctx, s, guests(w.owners))
	if err != nil {
		diags.AddError(failure(err))
		return diags
	}
	diags.Append(asPlanned(ctx, list, *state)...)
	diags.Append(state.SetAttribute(ctx, path.Root("machines"), list)...)
	return diags
}

func (shown) look(ctx context.Context, s *site.Site, w part, objects []plan.Object, state *tfsdk.State) (there bool, diags diag.Diagnostics) {
	var was []aMachine
	if diags = state.GetAttribute(ctx, path.Root("machines"), &was); diags.HasError() {
		return false, diags
	}
	owners := guests(w.owners)
	list, err := refreshed(ctx, s, owners, objects, was)
	if err != nil {
		diags.AddError(failure(err))
		return false, diags
	}
	keepAddresses(list, was)
	return len(list) > 0 || len(owners) == 0, state.SetAttribute(ctx, path.Root("machines"), list)
}

// guests are those of some owners that are machines.
func guests(owners []model.Owner) (list []model.Owner) {
	for _, o := range owners {
		if o.Kind == "VirtualMachine" || o.Kind == "VMClone" {
			list = append(list, o)
		}
	}
	return list
}
