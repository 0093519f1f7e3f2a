package terraform

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

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
	ours   bool // it is, by now
}

// adoptions are the guests that were imported for a resource: one, or one for each of its replicas.
type adoptions []*adoption

// adoption finds the guests that were imported for a resource. There are none if all of them are the resource's
// by now; gone says that a guest isn't there any more.
func (r *base) adoption(ctx context.Context, in private, w part, diags *diag.Diagnostics) (list adoptions, gone bool) {
	p, more := readPending(ctx, in)
	if diags.Append(more...); p == nil || diags.HasError() {
		return nil, false
	}
	s, err := r.door.opened(w.wanted.Connection)
	if err == nil {
		err = examine(ctx, s, p.vmids())
	}
	if err != nil {
		diags.AddError(failure(err))
		return nil, false
	}
	have := s.Observer().Snapshot()
	left := false
	for _, one := range p.all() {
		g := have.Guests[one.VMID]
		if g == nil || g.Config == nil || !one.is(g) {
			return nil, true
		}
		was := g.Config.Marker
		a := &adoption{guest: g, ours: was != nil && w.has(was.Owner)}
		list, left = append(list, a), left || !a.ours
	}
	if !left {
		return nil, false
	}
	return r.matched(ctx, s, list, w, diags), false
}

// examine reads all that is to know about those of some guests that are there.
func examine(ctx context.Context, s *site.Site, vmids []int) error {
	var there []int
	err := s.View(ctx, func(have *model.Observed) {
		there = slices.DeleteFunc(slices.Clone(vmids), func(id int) bool { return have.Guests[id] == nil })
	})
	if err != nil || len(there) == 0 {
		return err
	}
	return s.Observer().Examine(ctx, there...)
}

// matched gives each guest its machine, in the order in which they were imported.
func (r *base) matched(ctx context.Context, s *site.Site, list adoptions, w part, diags *diag.Diagnostics) adoptions {
	vms := w.wanted.Desired.VMs
	if len(vms) < len(list) || len(list) == 1 && len(vms) > 1 {
		diags.AddAttributeError(path.Root("replicas"), "The number of machines isn't that of the import", fmt.Sprintf("%d VMs were imported and the resource has %d machines. "+
			"Name one VM for each of the first replicas, such as id = \"104,105,106\", or import each as a resource of its own, such as with for_each.", len(list), len(vms)))
		return nil
	}
	for i, a := range list {
		a.vm = vms[i]
		switch {
		case a.vm.VMID == a.guest.VMID:
			if err := a.plan(ctx, s, w.wanted.Desired); err != nil {
				diags.AddError(failure(err))
			}
		case len(list) == 1:
			diags.AddAttributeError(path.Root("vmid"), "The VMID is missing", fmt.Sprintf("Say vmid = %d: it is how the imported machine is known, also when the state is lost.", a.guest.VMID))
		default:
			diags.AddAttributeError(path.Root("vmids"), "The VMIDs are missing", fmt.Sprintf("VM %d was imported as %s. Say vmids = %s: it is how the imported machines are known, also when the state is lost.", a.guest.VMID, a.vm.Owner.Name, list.vmids()))
			return nil
		}
	}
	if diags.HasError() {
		return nil
	}
	return list
}

// plan plans as if the guest was the resource's, and reads what that needs to know.
func (a *adoption) plan(ctx context.Context, s *site.Site, want model.Desired) error {
	const rounds = 5 // what is read can show that something else has to be read
	for range rounds {
		a.object = export.PlanAs(want, s.Observer().Snapshot(), a.guest, a.vm)
		if a.object.Look.Empty() {
			return nil
		}
		if err := s.Learn(ctx, a.object.Look); err != nil {
			return err
		}
	}
	return nil // the marks don't depend on it, and the next plan does the rest
}

// objects are the plans as if the guests were the resource's.
func (list adoptions) objects() (all []plan.Object) {
	for _, a := range list {
		all = append(all, a.object)
	}
	return all
}

// vmids are those of the guests, as a configuration has them.
func (list adoptions) vmids() string {
	var ids []string
	for _, a := range list {
		ids = append(ids, fmt.Sprint(a.guest.VMID))
	}
	return "[" + strings.Join(ids, ", ") + "]"
}

// warn says what people agree to.
func (list adoptions) warn(diags *diag.Diagnostics) {
	for _, a := range list {
		if !a.ours {
			diags.AddWarning(a.warning())
		}
	}
}

// differences are what the resource says otherwise than it is, beside whose it is.
func (list adoptions) differences(w part) (all []string) {
	for _, a := range list {
		all = append(all, a.differences(w)...)
	}
	return all
}

// seen are the guests as they are in Proxmox.
func (list adoptions) seen() (all []aMachine) {
	for _, a := range list {
		all = append(all, seen(a.vm.Owner.Name, a.guest))
	}
	return all
}

// adopt puts our marks on the guests.
func (list adoptions) adopt(ctx context.Context, s *site.Site) (diags diag.Diagnostics) {
	for _, a := range list {
		if !a.ours {
			diags.Append(a.adopt(ctx, s)...)
		}
	}
	return diags
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
func (a *adoption) differences(w part) (list []string) {
	o := a.object
	o.Steps = nil
	for _, s := range a.object.Steps {
		if !export.OnlyMarks(s.Action) {
			o.Steps = append(o.Steps, s)
		}
	}
	if !a.ours {
		list = append(list, a.vm.Owner.Name+": "+a.what())
	}
	return append(list, differences(w, []plan.Object{o})...)
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
