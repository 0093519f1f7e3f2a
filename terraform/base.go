package terraform

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// base is what all resources do alike: ask the engine for a plan, have it carried out, wait, and look
// at what became of it.
type base struct {
	configured
	kind   kind
	suffix string // of the resource's name
}

var (
	_ resource.ResourceWithConfigure  = (*machine)(nil)
	_ resource.ResourceWithModifyPlan = (*machine)(nil)
)

func (r *base) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.suffix
}

// kind is what sets one kind of resource apart from others.
type kind interface {
	// parse reads a configuration, a plan or a state. It reports false if not all of it is
	// known yet.
	parse(raw tftypes.Value) (w part, known bool, diags diag.Diagnostics)
	// sketch is what is known of a configuration of which something isn't: by which names it and its machines are known. It reports
	// false if it isn't even that.
	sketch(raw tftypes.Value) (w part, named bool)
	// foresee writes into a plan what is known before anything is done.
	foresee(ctx context.Context, w part, objects []plan.Object, state tfsdk.State, planned *tfsdk.Plan) diag.Diagnostics
	// pin keeps to what the plan has shown.
	pin(ctx context.Context, w *part, planned tfsdk.Plan) diag.Diagnostics
	// fill writes down what came of it.
	fill(ctx context.Context, s *site.Site, w part, outcomes map[model.Key]site.Outcome, state *tfsdk.State) diag.Diagnostics
	// look writes down what there is; false: nothing.
	look(ctx context.Context, s *site.Site, w part, objects []plan.Object, state *tfsdk.State) (bool, diag.Diagnostics)
	// shrink adds what a former state has and the present part hasn't any more: it is to go.
	shrink(w *part, state tfsdk.State) diag.Diagnostics
	// leave is what is wanted of what is to go.
	leave(want model.Desired) model.Desired
}

// part is what a resource wants.
type part struct {
	key    model.Key
	wanted manifest.Wanted
	owners []model.Owner  // of what is its own
	leaves []model.Owner  // of what was its own and is to go
	from   int            // the VMID of what it is a copy of; 0: that isn't known by its VMID
	hidden bool           // what it gets at its first boot isn't known here
	there  []aMachine     // of those that the state doesn't have, what is there already
	label  bool           // its name is nothing in Proxmox: with another one it is the same
	fewer  bool           // machines may be destroyed since fewer are wanted
	anew   bool           // and to be made anew
	said   map[string]any // what a machine's attributes say, as manifests have it; nil: it isn't a machine
	was    map[string]any // what they say in the state; nil: there is none
}

// has reports whether an object is the resource's own.
func (w part) has(o model.Owner) bool {
	return slices.Contains(w.owners, o) || slices.Contains(w.leaves, o)
}

// common adds the attributes that all resources have.
func common(ctx context.Context, a map[string]schema.Attribute) {
	a["id"] = schema.StringAttribute{Computed: true, Description: "Whose it is: the set and its name. It ends with (unfinished) where a creation has failed half-way and goes on with the next apply."}
	a["drift"] = schema.ListAttribute{Computed: true, ElementType: types.StringType, Description: "What differs in Proxmox from what this resource says, since somebody has changed it there. Applying changes it back."}
	a["timeouts"] = timeLimits(ctx)
}
