package terraform

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// ModifyPlan asks the engine what would be done, and says what Terraform can't know: which change
// restarts, replaces or loses data, and what isn't allowed.
func (r *base) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.door == nil {
		return
	}
	w, known, diags := r.kind.parse(req.Config.Raw)
	resp.Diagnostics.Append(diags...)
	if !known || diags.HasError() {
		return
	}
	if !req.State.Raw.IsNull() {
		if resp.Diagnostics.Append(r.kind.shrink(&w, req.State)...); resp.Diagnostics.HasError() {
			return
		}
	}
	objects, ok := r.ask(ctx, w, &resp.Diagnostics)
	if !ok {
		return
	}
	resp.Diagnostics.Append(effects(w, objects)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), r.id(w))...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("drift"), r.resolved(ctx, w, objects, req.State, &resp.Diagnostics))...)
	resp.Diagnostics.Append(r.kind.foresee(ctx, w, objects, req.State, &resp.Plan)...)
}

// resolved is what the attribute drift is planned to be: nothing is to differ any more. Where there is
// something to do that no attribute shows, such as another secret, it is what says so.
func (r *base) resolved(ctx context.Context, w part, objects []plan.Object, state tfsdk.State, diags *diag.Diagnostics) types.List {
	var was []string
	if !state.Raw.IsNull() {
		diags.Append(state.GetAttribute(ctx, path.Root("drift"), &was)...)
	}
	if len(was) == 0 && slices.ContainsFunc(objects, func(o plan.Object) bool { return w.has(o.Owner) && len(o.Steps) > 0 }) {
		return types.ListUnknown(types.StringType)
	}
	return texts(nil)
}

// id is whose the machines are.
func (r *base) id(w part) string { return r.door.config.set + "/" + w.key.Name }

// ask is what the engine would do for a resource.
func (r *base) ask(ctx context.Context, w part, diags *diag.Diagnostics) ([]plan.Object, bool) {
	if _, err := r.door.opened(w.wanted.Connection); err != nil {
		diags.AddError(failure(err))
		return nil, false
	}
	objects, err := r.door.plans.ask(ctx, w.key, w.wanted.Desired)
	if err != nil {
		diags.AddError(failure(err))
		return nil, false
	}
	return objects, true
}

// effects says what a plan does to machines that are there, and what it can't do.
func effects(w part, objects []plan.Object) (diags diag.Diagnostics) {
	for _, o := range objects {
		if !w.has(o.Owner) {
			continue // an image that a machine is made from; the machine says what is wrong with it
		}
		name := o.Owner.Name
		for _, refused := range o.Refused {
			diags.AddError(name+" can't be changed so", status.Terraform.Of(plan.Object{Refused: []plan.Refusal{refused}}).Message)
		}
		if o.Wait != nil && o.Wait.Reason.Blocks() {
			diags.AddError(name+" can't be made so", status.Terraform.Wait(*o.Wait))
		}
		if summary, steps := gravest(o.Steps); summary != "" {
			diags.AddWarning(fmt.Sprintf("%s %s", name, summary), steps)
		}
		for _, n := range o.Notes {
			diags.AddWarning(name+": worth knowing", status.Terraform.Note(n))
		}
	}
	return diags
}

// gravity are the effects that people should know of before they agree, the gravest first.
var gravity = []struct {
	effect  plan.Effect
	summary string
}{
	{plan.LosesData, "loses data"},
	{plan.Replace, "is destroyed and made anew"},
	{plan.Restart, "is restarted"},
	{plan.PowerOff, "is powered off"},
	{plan.Moves, "goes to another node"},
	{plan.Partly, "takes over some changes at its next start only"},
	{plan.Later, "takes over a change at its next start only"},
}

// gravest is the gravest effect of some steps, and all steps that people should know of.
func gravest(steps []plan.Step) (summary, text string) {
	var told []string
	for _, g := range gravity {
		for _, s := range steps {
			if s.Effect == g.effect {
				summary, told = cmp.Or(summary, g.summary), append(told, sentence(s))
			}
		}
	}
	return summary, strings.Join(told, "\n")
}

// sentence is a step with its reason.
func sentence(s plan.Step) string {
	text := s.What
	if why := status.Why(s); why != "" {
		text += ": " + why
	}
	return status.Sentence(text)
}

// differences are what somebody has changed in Proxmox, in words.
func differences(w part, objects []plan.Object) []string {
	list := []string{}
	for _, o := range objects {
		if !w.has(o.Owner) {
			continue
		}
		for _, s := range o.Steps {
			if w.hidden && slices.ContainsFunc(s.Diff, aboutFirstBoot) {
				continue
			}
			list = append(list, o.Owner.Name+": "+sentence(s))
		}
		for _, refused := range o.Refused {
			list = append(list, o.Owner.Name+": "+strings.TrimSpace(status.Reason(refused.Why, refused.Diff)))
		}
	}
	return list
}

// aboutFirstBoot reports whether a difference is about what a machine gets at its first boot.
func aboutFirstBoot(d model.Difference) bool {
	return d.Field == model.FieldFirstBoot || d.Field == model.FieldCloudInit || d.Field == model.FieldMarker
}
