package terraform

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
)

// unmanaged is the resource proxplane_unmanaged: something that another provider has made and nobody looks
// after any more. Moved blocks put it there, so that the other provider isn't needed to
// let go of it, and nothing is destroyed.
type unmanaged struct{}

var _ resource.ResourceWithMoveState = unmanaged{}

func (unmanaged) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_unmanaged"
}

func (unmanaged) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	stays := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	resp.Schema = schema.Schema{
		Description: "Something that another provider has made and nobody looks after any more, such as an ISO image beside a machine that was taken over: the target of a moved block. Nothing is made, changed or destroyed in Proxmox.",
		Attributes: map[string]schema.Attribute{
			"id":   schema.StringAttribute{Computed: true, PlanModifiers: stays, Description: "What the other provider knew it by."},
			"type": schema.StringAttribute{Computed: true, PlanModifiers: stays, Description: "The type of the resource that it was."},
		},
	}
}

// MoveState takes anything.
func (unmanaged) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		var was struct {
			ID string `json:"id"`
		}
		if req.SourceRawState != nil {
			if err := json.Unmarshal(req.SourceRawState.JSON, &was); err != nil {
				resp.Diagnostics.AddError("The former state can't be read", err.Error())
				return
			}
		}
		resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("id"), was.ID)...)
		resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("type"), req.SourceTypeName)...)
	}}}
}

func (unmanaged) Create(ctx context.Context, _ resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), "")...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("type"), "")...)
}

func (unmanaged) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (unmanaged) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (unmanaged) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
