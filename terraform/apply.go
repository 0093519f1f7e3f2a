package terraform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// patience is how long something may take where the resource doesn't say.
const patience = 30 * time.Minute

// Create makes what is wanted, or finds again what was made before.
func (r *base) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var t timeouts.Value
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("timeouts"), &t)...)
	limit, diags := t.Create(ctx, patience)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	resp.State.Raw = req.Plan.Raw
	switch r.apply(ctx, limit, request{said: req.Config, planned: req.Plan}, &resp.State, &resp.Diagnostics) {
	case done:
	case interrupted:
		// The next plan goes on with it, and can destroy it as well. With an error Terraform would call it tainted.
		// Terraform reports that the apply has failed: it was interrupted itself.
		raw, err := begun(req.Plan.Raw)
		if resp.State.Raw = raw; err != nil {
			resp.Diagnostics.AddError("The state can't be written", err.Error())
		} else {
			soften(resp.Diagnostics)
		}
	case stuck:
		resp.Diagnostics.Append(r.stuck(ctx, req.Plan.Raw, &resp.State)...)
	case failed:
		resp.State.RemoveResource(ctx)
	}
	resp.Diagnostics.Append(unmark(ctx, resp.Private)...)
}

// Update changes what there is.
func (r *base) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var t timeouts.Value
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("timeouts"), &t)...)
	limit, diags := t.Update(ctx, patience)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	before := resp.State.Raw
	resp.State.Raw = req.Plan.Raw
	switch r.apply(ctx, limit, request{said: req.Config, planned: req.Plan, before: &req.State, private: req.Private}, &resp.State, &resp.Diagnostics) {
	case done:
	case interrupted, stuck, failed:
		resp.State.Raw = before // what is left to do is planned again
		resp.Diagnostics.Append(unmark(ctx, resp.Private)...)
		return
	}
	resp.Diagnostics.Append(forgetPending(ctx, resp.Private)...)
	resp.Diagnostics.Append(unmark(ctx, resp.Private)...)
}

// request is what is to be applied.
type request struct {
	said    tfsdk.Config
	planned tfsdk.Plan
	before  *tfsdk.State // nil: there is none
	private private      // the same
}

// ending is how an apply ended.
type ending int

const (
	failed      ending = iota // nothing was begun
	stuck                     // half-way
	interrupted               // half-way, by people
	done
)

// begun is the state of a resource whose creation didn't end: as planned, and what isn't known is left open.
func begun(planned tftypes.Value) (tftypes.Value, error) {
	return tftypes.Transform(planned, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !v.IsKnown() {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
}

// soften makes errors warnings.
func soften(diags diag.Diagnostics) {
	for i, d := range diags {
		if d.Severity() == diag.SeverityError {
			diags[i] = diag.NewWarningDiagnostic(d.Summary(), d.Detail())
		}
	}
}

// apply has the engine make it so, waits, and fills the state.
func (r *base) apply(ctx context.Context, limit time.Duration, req request, state *tfsdk.State, diags *diag.Diagnostics) ending {
	if !r.ready(diags) {
		return failed
	}
	w, known, more := r.kind.parse(req.said.Raw)
	if diags.Append(more...); diags.HasError() {
		return failed
	}
	if !known {
		diags.AddError("Something isn't known", "The configuration has values that aren't known even now. This is a defect of the provider or of Terraform.")
		return failed
	}
	if diags.Append(r.kind.pin(ctx, &w, req.planned)...); diags.HasError() {
		return failed
	}
	s, err := r.door.opened(w.wanted.Connection)
	if err != nil {
		diags.AddError(failure(err))
		return failed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("it has taken longer than timeouts allow"))
	defer cancel()
	if req.before != nil {
		a, more := r.former(ctx, &w, *req.before, req.private)
		if diags.Append(more...); a != nil {
			diags.Append(a.adopt(ctx, s)...)
		}
	} else {
		diags.Append(r.unclaimed(ctx, s, w)...)
	}
	if diags.HasError() {
		return failed
	}
	stay := r.door.claims.stay(w.leaves)
	r.door.claims.apply(w)
	stays := func(o model.Owner) bool { return slices.Contains(stay, o) }
	w.wanted.Desired, w.leaves = without(w.wanted.Desired, stays), slices.DeleteFunc(w.leaves, stays)
	r.door.want(s, w.key, w.wanted.Desired)
	outcomes, errs := r.door.settle(ctx, s, w.owners, site.Ready)
	_, left := r.door.settle(ctx, s, w.leaves, site.Gone)
	if errs = append(errs, left...); len(errs) > 0 {
		diags.Append(failures(errs)...)
		if errors.Is(errors.Join(errs...), context.Canceled) {
			return interrupted
		}
		if req.before == nil && untouched(s, w) {
			return failed
		}
		return stuck
	}
	diags.Append(state.SetAttribute(ctx, path.Root("id"), r.id(w))...)
	diags.Append(state.SetAttribute(ctx, path.Root("drift"), []string{})...)
	diags.Append(r.kind.fill(ctx, s, w, outcomes, state)...)
	if diags.HasError() {
		return stuck
	}
	return done
}

// Read reads the present state. The next plan shows what somebody has changed, and its apply changes it back.
func (r *base) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	if !r.ready(&resp.Diagnostics) {
		return
	}
	if m, is := r.kind.(*machine); is && !m.arrive(ctx, req, resp) {
		return
	}
	if resp.Diagnostics.Append(r.sameSet(ctx, resp.State)...); resp.Diagnostics.HasError() {
		return
	}
	w, known, diags := r.recall(resp.State.Raw)
	resp.Diagnostics.Append(diags.Errors()...) // what is worth knowing is about the configuration
	if !known || resp.Diagnostics.HasError() {
		return
	}
	unfinished, diags := isUnfinished(ctx, resp.State)
	resp.Diagnostics.Append(diags...)
	r.door.claims.hold(w, unfinished)
	a, gone := r.adoption(ctx, resp.Private, w, &resp.Diagnostics)
	switch {
	case resp.Diagnostics.HasError():
		return
	case gone:
		resp.State.RemoveResource(ctx)
		return
	case a != nil:
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("drift"), a.differences(w))...)
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("machines"), a.seen())...)
		return
	}
	s, objects, ok := r.ask(ctx, w, wanting{}, &resp.Diagnostics)
	if !ok {
		return
	}
	for _, o := range objects {
		if o.Wait != nil && o.Wait.Reason.Facts().Hidden && !o.Wait.Reason.Facts().Unmade {
			resp.Diagnostics.AddError(o.Owner.Name+" can't be looked at", attributesIn(status.Terraform.Wait(*o.Wait))) // not seen isn't gone
			return
		}
	}
	there, more := r.kind.look(ctx, s, w, objects, &resp.State)
	if resp.Diagnostics.Append(more...); resp.Diagnostics.HasError() {
		return
	}
	if !there {
		resp.State.RemoveResource(ctx)
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("drift"), differences(w, objects))...)
}

// sameSet: what a state has is of the provider's set. With another one it would be taken for gone, be made anew, and stay in Proxmox
// with nobody to look after it.
func (r *base) sameSet(ctx context.Context, state tfsdk.State) diag.Diagnostics {
	var id types.String // null after an import of another provider's machine
	diags := state.GetAttribute(ctx, path.Root("id"), &id)
	owner := strings.TrimSuffix(id.ValueString(), unfinishedMark)
	if was, name, ok := strings.Cut(owner, "/"); ok && was != r.door.config.set {
		diags.AddError("The set has another name", fmt.Sprintf("The state has %s of set %s, and the provider's block says set = %q. Machines are known by their set: with another one they would be made anew, and these would stay in Proxmox. "+
			"Say set = %q. To have them in another set, take them out of the state (tofu state rm), and import them: id = %q.", name, was, r.door.config.set, was, owner))
	}
	return diags
}

// Delete destroys what there is, or lets it go where deletion_policy says so.
func (r *base) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	if !r.ready(&resp.Diagnostics) {
		return
	}
	if resp.Diagnostics.Append(r.sameSet(ctx, req.State)...); resp.Diagnostics.HasError() {
		return
	}
	var t timeouts.Value
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("timeouts"), &t)...)
	limit, diags := t.Delete(ctx, patience)
	resp.Diagnostics.Append(diags...)
	w, _, diags := r.recall(req.State.Raw)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	switch goesOn, diags := r.door.claims.goesOn(ctx, req.State, req.Private); {
	case diags.HasError():
		resp.Diagnostics.Append(diags...)
		return
	case goesOn:
		r.door.claims.resume(w)
		resp.Diagnostics.AddWarning(w.key.Name+" isn't destroyed", "It wasn't finished when it was made, and this apply goes on with it.")
		return
	}
	a, gone := r.adoption(ctx, req.Private, w, &resp.Diagnostics)
	for _, one := range a {
		resp.Diagnostics.AddWarning(one.vm.Owner.Name+" stays as it is", fmt.Sprintf("VM %d was imported or moved here, and never applied: it isn't destroyed.", one.guest.VMID))
	}
	if a != nil || gone || resp.Diagnostics.HasError() {
		return
	}
	s, err := r.door.opened(w.wanted.Connection)
	if err != nil {
		resp.Diagnostics.AddError(failure(err))
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("it has taken longer than timeouts allow"))
	defer cancel()
	stay := r.door.claims.stay(w.owners)
	if len(stay) > 0 {
		resp.Diagnostics.AddWarning(names(stay)+" isn't destroyed", "Another resource of this configuration has it since a moment ago, or the same one has with create_before_destroy: objects are known by their names, so there is no second one beside it. "+
			"To have it made anew, use -replace without create_before_destroy.")
	}
	if len(stay) == len(w.owners) && len(stay) > 0 {
		return
	}
	stays := func(o model.Owner) bool { return slices.Contains(stay, o) }
	w.owners = slices.DeleteFunc(w.owners, stays)
	r.door.want(s, w.key, without(r.kind.leave(w.wanted.Desired), stays))
	if _, errs := r.door.settle(ctx, s, w.owners, site.Gone); len(errs) > 0 {
		resp.Diagnostics.Append(failures(errs)...)
		return
	}
	r.door.forget(s, w.key)
}
