package terraform

import (
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
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// ModifyPlan asks the engine what would be done, and says what Terraform can't know: which change
// restarts, replaces or loses data, and what isn't allowed.
func (r *base) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.door == nil {
		return
	}
	if !req.State.Raw.IsNull() {
		if resp.Diagnostics.Append(r.sameSet(ctx, req.State)...); resp.Diagnostics.HasError() {
			return // which is said once, when it is read, unless nothing is read
		}
	}
	if req.Plan.Raw.IsNull() {
		r.goes(ctx, req, resp)
		return
	}
	again, diags := r.door.claims.mark(ctx, req.Private, resp.Private)
	resp.Diagnostics.Append(diags...)
	w, known, diags := r.kind.parse(req.Config.Raw)
	resp.Diagnostics.Append(diags...)
	switch {
	case diags.HasError():
		return
	case !known:
		r.unsure(ctx, again, req, resp)
		return
	}
	if resp.Diagnostics.Append(r.door.claims.plan(w, again)...); resp.Diagnostics.HasError() {
		return
	}
	r.renamed(ctx, w, req, resp)
	r.remember(ctx, w, req.State)
	if s, err := r.door.opened(w.wanted.Connection); err != nil {
		resp.Diagnostics.AddError(failure(err))
		return
	} else if unmade, err := r.door.unmade(ctx, s, w.from); err != nil || unmade {
		if err != nil {
			resp.Diagnostics.AddError(failure(err))
		}
		return // what is copied is made first; then all is known
	}
	objects, ok := r.foretold(ctx, &w, req, again, &resp.Diagnostics)
	if resp.Diagnostics.Append(r.door.claims.lose(w)...); !ok || resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(effects(w, objects)...)
	resp.Diagnostics.Append(idle(w, objects)...)
	if r.door.config.refresh == "" {
		resp.Diagnostics.Append(unread(w, objects)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), r.id(w))...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("drift"), r.resolved(ctx, w, objects, req.State, &resp.Diagnostics))...)
	resp.Diagnostics.Append(r.kind.foresee(ctx, w, objects, req.State, &resp.Plan)...)
}

// goes says what it means that a resource is destroyed.
func (r *base) goes(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	resp.Diagnostics.Append(unmark(ctx, resp.Private)...)
	if w, known, diags := r.recall(req.State.Raw); known && !diags.HasError() {
		resp.Diagnostics.Append(r.door.claims.leave(w)...)
		resp.Diagnostics.Append(retained(w)...)
		resp.Diagnostics.Append(shielded(w)...)
	}
}

// retained says which machines stay though Terraform says that they are destroyed.
func retained(w part) (diags diag.Diagnostics) {
	var list []string
	for _, v := range w.wanted.Desired.VMs {
		if v.Retain {
			list = append(list, v.Owner.Name)
		}
	}
	if len(list) > 0 {
		diags.AddWarning(w.key.Name+" stays in Proxmox", fmt.Sprintf("deletion_policy is Retain: %s goes on as it is, and this set lets go of it.", strings.Join(list, ", ")))
	}
	return diags
}

// shielded says which machines can't be destroyed, before others are: the engine goes by what was applied last.
func shielded(w part) (diags diag.Diagnostics) {
	for _, v := range w.wanted.Desired.VMs {
		if v.Options["protection"] == "1" && !v.Retain {
			diags.AddAttributeError(path.Root("protection"), v.Owner.Name+" is protected", "It isn't destroyed: apply protection = false first.")
		}
	}
	return diags
}

// remember notes what the state of a resource has, unless it was read before.
func (r *base) remember(ctx context.Context, w part, state tfsdk.State) {
	if state.Raw.IsNull() || r.door.claims.holds(w.key) {
		return
	}
	if was, known, diags := r.recall(state.Raw); known && !diags.HasError() {
		unfinished, _ := isUnfinished(ctx, state) // which has an id, as the schema says
		r.door.claims.hold(was, unfinished)
	}
}

// foretold is what would be done for a resource: by the engine, or to adopt what was imported for it.
func (r *base) foretold(ctx context.Context, w *part, req resource.ModifyPlanRequest, again bool, diags *diag.Diagnostics) ([]plan.Object, bool) {
	if !req.State.Raw.IsNull() {
		a, more := r.former(ctx, w, req.State, req.Private)
		if diags.Append(more...); diags.HasError() {
			return nil, false
		}
		if a != nil {
			a.warn(diags)
			diags.Append(r.door.claims.adopt(*w, a)...)
			return a.objects(), !diags.HasError()
		}
	}
	s, objects, ok := r.ask(ctx, *w, wanting{said: true, fresh: req.State.Raw.IsNull()}, diags)
	if ok {
		diags.Append(r.door.disputed(*w)...)
	}
	if ok && req.State.Raw.IsNull() {
		diags.Append(r.foundAgain(ctx, s, w, objects, again)...)
	}
	return objects, ok && !diags.HasError()
}

// former is what there is of a resource that has a state: a guest that is to be adopted, or its own ones, of
// which some may be to go.
func (r *base) former(ctx context.Context, w *part, state tfsdk.State, in private) (a adoptions, diags diag.Diagnostics) {
	a, gone := r.adoption(ctx, in, *w, &diags)
	if gone {
		diags.AddError(w.key.Name+" is gone", "The VM that was imported isn't there any more. Plan again.")
	}
	if a == nil && !diags.HasError() {
		diags.Append(r.kind.shrink(w, state)...)
	}
	return a, diags
}

// resolved is what the attribute drift is planned to be: nothing is to differ any more. Where there is
// something to do that no attribute shows, such as another secret, it is what says so.
func (r *base) resolved(ctx context.Context, w part, objects []plan.Object, state tfsdk.State, diags *diag.Diagnostics) types.List {
	var was []string
	if state.Raw.IsNull() {
		return texts(nil) // all of it is new, which needs no word here
	}
	diags.Append(state.GetAttribute(ctx, path.Root("drift"), &was)...)
	if len(was) == 0 && slices.ContainsFunc(objects, func(o plan.Object) bool { return w.has(o.Owner) && len(o.Steps) > 0 }) {
		return types.ListUnknown(types.StringType)
	}
	return texts(nil)
}

// id is whose the machines are.
func (r *base) id(w part) string { return r.door.config.set + "/" + w.key.Name }

// ask is what the engine would do for a resource, for what its configuration says or for its state.
func (r *base) ask(ctx context.Context, w part, as wanting, diags *diag.Diagnostics) (*site.Site, []plan.Object, bool) {
	s, err := r.door.opened(w.wanted.Connection)
	if err != nil {
		diags.AddError(failure(err))
		return nil, nil, false
	}
	as.want = w.wanted.Desired
	objects, err := r.door.plans.ask(ctx, w.key, as)
	if err != nil {
		diags.AddError(failure(err))
		return nil, nil, false
	}
	r.door.expects(objects)
	return s, objects, true
}

// unread says which machines a plan knows by the lists alone. Terraform shows warnings of many resources with one summary as one.
func unread(w part, objects []plan.Object) (diags diag.Diagnostics) {
	var list []string
	for _, o := range objects {
		if o.Unread && w.has(o.Owner) {
			list = append(list, o.Owner.Name)
		}
	}
	if len(list) == 0 {
		return nil
	}
	diags.AddWarning("Not every config was read", fmt.Sprintf("%s: up to date by the cluster's lists, which show node, name, tags, pool, power, CPUs, memory and root disk. What somebody else has changed beside that is seen when it is their turn "+
		"(where there are more than %d machines, the configs of %d have their turn each minute). Set refresh = %q in the provider's block to read all of them each time, or %q to leave it at that without this warning.", shortened(list), few, turn, refreshConfigs, refreshLists))
	return diags
}

// sentence is a step with its reason.
func sentence(s plan.Step) string {
	text := s.What
	if why := status.Why(s); why != "" {
		text += ": " + why
	}
	return attributesIn(status.Sentence(text))
}

// differences are what somebody has changed in Proxmox, in words.
func differences(w part, objects []plan.Object) []string {
	list := []string{}
	for _, o := range objects {
		if !w.has(o.Owner) {
			continue
		}
		for _, s := range o.Steps {
			if about := len(s.Diff); about > 0 {
				if s.Diff = w.visible(s.Diff); len(s.Diff) == 0 {
					continue
				}
			}
			list = append(list, o.Owner.Name+": "+sentence(s))
		}
		for _, refused := range o.Refused {
			if about := len(refused.Diff); about > 0 {
				if refused.Diff = w.visible(refused.Diff); len(refused.Diff) == 0 {
					continue
				}
			}
			list = append(list, o.Owner.Name+": "+attributesIn(strings.TrimSpace(status.Reason(refused.Why, refused.Diff))))
		}
	}
	return list
}

// visible are the differences but for those about first-boot data, where these aren't known.
func (w part) visible(list []model.Difference) []model.Difference {
	if !w.hidden {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), aboutFirstBoot)
}

// aboutFirstBoot reports whether a difference is about what a machine gets at its first boot.
func aboutFirstBoot(d model.Difference) bool {
	return d.Field == model.FieldFirstBoot || d.Field == model.FieldCloudInit || d.Field == model.FieldMarker
}
