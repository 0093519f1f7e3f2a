package terraform

import (
	"context"
	"fmt"

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
	if there = len(list) > 0 || len(owners) == 0; !there {
		if diags = elsewhere(ctx, s, was); diags.HasError() {
			return false, diags
		}
	}
	return there, state.SetAttribute(ctx, path.Root("machines"), list)
}

// elsewhere: machines on nodes that the cluster doesn't have are on another cluster. If they were taken for gone, they would be made anew here, and
// nobody would look after them there.
func elsewhere(ctx context.Context, s *site.Site, was []aMachine) (diags diag.Diagnostics) {
	err := s.View(ctx, func(have *model.Observed) {
		for _, m := range was {
			if node := m.Node.ValueString(); node == "" || have.Nodes[node] != nil {
				return
			}
		}
		if len(was) > 0 {
			name, node := was[0].Name.ValueString(), was[0].Node.ValueString()
			diags.AddError(name+" isn't in this cluster", fmt.Sprintf("The state has VM %d on node %s, and the cluster that the provider's block means has no such node. Is it another cluster? Then a provider of its own, with an alias, is for it. "+
				"If the node was removed with its machines, take the resource out of the state: tofu state rm ADDRESS.", was[0].VMID.ValueInt64(), node))
		}
	})
	if err != nil {
		diags.AddError(failure(err))
	}
	return diags
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
