package terraform

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// wholeNumbers checks attributes whose values are integers. Their type is that of all numbers: the framework's own type for integers
// calls any other number a defect of the provider.
type wholeNumbers struct{}

var (
	_ validator.Number = wholeNumbers{}
	_ validator.List   = wholeNumbers{}
	_ validator.Map    = wholeNumbers{}
)

func (wholeNumbers) Description(context.Context) string               { return "A whole number." }
func (c wholeNumbers) MarkdownDescription(ctx context.Context) string { return c.Description(ctx) }

func (wholeNumbers) ValidateNumber(_ context.Context, req validator.NumberRequest, resp *validator.NumberResponse) {
	resp.Diagnostics.Append(whole(req.Path, req.ConfigValue)...)
}

func (wholeNumbers) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, v := range req.ConfigValue.Elements() {
		resp.Diagnostics.Append(whole(req.Path.AtListIndex(i), v)...)
	}
}

func (wholeNumbers) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for name, v := range req.ConfigValue.Elements() {
		resp.Diagnostics.Append(whole(req.Path.AtMapKey(name), v)...)
	}
}

// whole: a number has no fraction, and isn't too large for an integer.
func whole(at path.Path, v attr.Value) (diags diag.Diagnostics) {
	n, is := v.(types.Number)
	if !is || n.IsNull() || n.IsUnknown() {
		return nil
	}
	if _, exact := n.ValueBigFloat().Int64(); exact != big.Exact {
		diags.AddAttributeError(at, fmt.Sprintf("%s isn't right", at), fmt.Sprintf("Want a whole number, have %s.", n.ValueBigFloat().Text('g', 10)))
	}
	return diags
}

// timeLimits are the attribute timeouts.
func timeLimits(ctx context.Context) schema.Attribute {
	const about = `How long this may take, such as "90s" or "1h30m". Default: 30m.`
	a, _ := timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, CreateDescription: about, Update: true, UpdateDescription: about,
		Delete: true, DeleteDescription: about + " It is what was applied last that counts.",
	}).(schema.SingleNestedAttribute)
	for name, limit := range a.Attributes {
		limit, _ := limit.(schema.StringAttribute)
		limit.Validators = []validator.String{timeLimit{}}
		a.Attributes[name] = limit
	}
	a.Description = "How long may be waited for Proxmox. What was begun until then goes on there, and the next apply goes on with it."
	return a
}

// timeLimit checks how long something may take.
type timeLimit struct{}

func (timeLimit) Description(context.Context) string               { return `A duration above 0, such as "90s".` }
func (c timeLimit) MarkdownDescription(ctx context.Context) string { return c.Description(ctx) }

func (timeLimit) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d <= 0 {
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("%s isn't right", req.Path), fmt.Sprintf(`Want a duration above 0, such as "90s" or "1h30m", have %q.`, req.ConfigValue.ValueString()))
	}
}
