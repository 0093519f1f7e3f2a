package terraform

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec/export"
	"github.com/proxplane/proxplane/status"
)

// adoption is a guest that is to become a resource's, with the plan as if it was already.
type adoption struct {
	guest  *model.Guest
	vm     model.VM
	object plan.Object
}

// adoption finds the guest that was imported for a resource. It is nil if there is none, or if it is the resource's
// by now; gone says that the guest isn't there any more.
func (r *base) adoption(ctx context.Context, in private, w part, diags *diag.Diagnostics) (a *adoption, gone bool) {
	p, more := readPending(ctx, in)
	if diags.Append(more...); p == nil || diags.HasError() {
		return nil, false
	}
	s, err := r.door.opened(w.wanted.Connection)
	there := false
	if err == nil {
		err = s.View(ctx, func(have *model.Observed) { there = have.Guests[p.VMID] != nil })
	}
	if err == nil && there {
		err = s.Observer().Examine(ctx, p.VMID)
	}
	if err != nil {
		diags.AddError(failure(err))
		return nil, false
	}
	have := s.Observer().Snapshot()
	g := have.Guests[p.VMID]
	if g == nil || g.Config == nil || !p.is(g) {
		return nil, true
	}
	if was := g.Config.Marker; was != nil && w.has(was.Owner) {
		return nil, false
	}
	vms := w.wanted.Desired.VMs
	switch {
	case len(vms) != 1 || vms[0].Owner.Name != w.key.Name:
		diags.AddAttributeError(path.Root("replicas"), "An imported machine is one machine", "Leave replicas out, and import each machine as a resource of its own, such as with for_each.")
	case vms[0].VMID != p.VMID:
		diags.AddAttributeError(path.Root("vmid"), "The VMID is missing", fmt.Sprintf("Say vmid = %d: it is how the imported machine is known, also when the state is lost.", p.VMID))
	default:
		return &adoption{g, vms[0], export.PlanAs(w.wanted.Desired, have, g, vms[0])}, false
	}
	return nil, false
}

// what says what is done to the guest.
func (a *adoption) what() string {
	text := fmt.Sprintf("VM %d on %s", a.guest.VMID, a.guest.Node)
	if was := a.guest.Config.Marker; was != nil {
		text += fmt.Sprintf(" is %s of set %s now, and", status.Name(was.Owner.Key), was.Owner.Set)
	}
	return text + " gets a marker in its notes, and two tags"
}

// warning says what people agree to.
func (a *adoption) warning() (summary, text string) {
	text = a.what() + "."
	if was := a.guest.Config.Marker; was != nil {
		text += fmt.Sprintf(" Take it out of what set %s is made from: that would make a new machine in its place.", was.Owner.Set)
	}
	return a.vm.Owner.Name + " is adopted", text
}

// differences are what the resource says otherwise than it is, beside whose it is.
func (a *adoption) differences(w part) []string {
	o := a.object
	o.Steps = nil
	for _, s := range a.object.Steps {
		if !export.OnlyMarks(s.Action) {
			o.Steps = append(o.Steps, s)
		}
	}
	return append([]string{a.vm.Owner.Name + ": " + a.what()}, differences(w, []plan.Object{o})...)
}

// adopt puts our marks on the guest.
func (a *adoption) adopt(ctx context.Context, s *site.Site) (diags diag.Diagnostics) {
	name := a.vm.Owner.Name
	if a.guest.Lock != "" {
		diags.AddError(name+" can't be adopted", fmt.Sprintf("VM %d is locked (%s). Apply again when that has ended.", a.guest.VMID, a.guest.Lock))
		return diags
	}
	hand := s.ByHand(ctx)
	for _, mark := range export.Marks(a.object, a.vm, a.guest) {
		if err := hand.Do(ctx, a.guest, mark); err != nil {
			diags.AddError(name+" can't be adopted", fmt.Sprintf("adopt VM %d: %v", a.guest.VMID, err))
			return diags
		}
	}
	return diags
}

// renamed: another name is another machine, unless it is one that was imported and isn't ours yet.
func renamed() planmodifier.String {
	const text = "Another name is another resource."
	return stringplanmodifier.RequiresReplaceIf(func(ctx context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
		p, diags := readPending(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
		resp.RequiresReplace = p == nil
	}, text, text)
}
