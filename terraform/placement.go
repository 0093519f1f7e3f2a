package terraform

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// placement is the resource proxplane_placement: a VMPlacementPolicy. Proxmox has nothing of it, it is for machines to
// share.
type placement struct {
	configured
	fields []field
}

var (
	_ resource.ResourceWithConfigure  = (*placement)(nil)
	_ resource.ResourceWithModifyPlan = (*placement)(nil)
)

func newPlacement() *placement { return &placement{fields: fieldsOf("VMPlacementPolicy")} }

func (r *placement) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_placement"
}

func (r *placement) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	a := attributes(r.fields)
	a["id"] = schema.StringAttribute{Computed: true, Description: "A name that is the same for what says the same."}
	resp.Schema = schema.Schema{Description: "Which nodes machines may be on, for several machines to share: placement = proxplane_placement.apart. Nothing is made in Proxmox.", Attributes: a}
}

// ModifyPlan reports what is wrong with the placement before anything is made.
func (r *placement) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.door == nil {
		return
	}
	said, known, diags := r.said(req.Config.Raw)
	if resp.Diagnostics.Append(diags...); !known || diags.HasError() {
		return
	}
	_, diags = r.door.translate(document{kind: "VMPlacementPolicy", name: called("placement", said), spec: said})
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), called("placement", said))...)
}

func (r *placement) said(raw tftypes.Value) (said map[string]any, known bool, diags diag.Diagnostics) {
	said, known, err := manifestOf(r.fields, raw)
	if err != nil {
		diags.AddError("The resource can't be read", err.Error())
	}
	return said, known, diags
}

// Create keeps what is said.
func (r *placement) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	said, _, diags := r.said(req.Plan.Raw)
	resp.Diagnostics.Append(diags...)
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), called("placement", said))...)
}

// Update keeps what is said now.
func (r *placement) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	said, _, diags := r.said(req.Plan.Raw)
	resp.Diagnostics.Append(diags...)
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), called("placement", said))...)
}

// Read does nothing: Proxmox has no object for a placement.
func (r *placement) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Delete does nothing: Proxmox has no object for a placement.
func (r *placement) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
