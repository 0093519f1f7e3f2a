package terraform

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// foundAgain says which machines are there already though the state doesn't have them: Terraform's plan calls them new. What is known
// of them is part of the plan. Of a resource that is planned again because it is to be replaced, Terraform says so itself.
func (r *base) foundAgain(ctx context.Context, s *site.Site, w *part, objects []plan.Object, again bool) (diags diag.Diagnostics) {
	var there, held, kept []string
	resumes, said := r.door.claims.unfinished(*w)
	resumes = resumes && !again
	own := guests(w.owners)
	err := s.View(ctx, func(have *model.Observed) {
		for _, o := range objects {
			g := have.Guests[o.VMID]
			if !slices.Contains(own, o.Owner) || g == nil || slices.ContainsFunc(o.Steps, func(s plan.Step) bool { return model.FactsOf(s.Action).Makes }) {
				continue
			}
			name := fmt.Sprintf("%s (VM %d)", o.Owner.Name, o.VMID)
			if !resumes && r.door.claims.retains(o.Owner.Key) {
				kept = append(kept, name)
				continue
			}
			if !resumes && r.door.claims.holds(o.Owner.Key) {
				held = append(held, name)
				continue
			}
			if there = append(there, name); g.Config != nil {
				w.there = append(w.there, stays(o.Owner.Name, g))
			}
		}
	})
	switch {
	case err != nil:
		diags.AddError(failure(err))
	case resumes:
		if !said {
			diags.Append(w.resumes(there)...)
		}
		return diags
	case !again:
		diags.Append(r.unclaimed(ctx, s, *w)...)
	}
	if len(kept) > 0 {
		diags.AddError(w.key.Name+" can't be replaced", fmt.Sprintf("deletion_policy is Retain: %s would stay in Proxmox, and another machine with the same name and the same MAC addresses would be made beside it. "+
			"Apply deletion_policy = \"Delete\" first; or leave it as it is, after an untaint if it is tainted.", strings.Join(kept, ", ")))
	}
	if len(there) > 0 {
		diags.AddWarning("Machines are there already", fmt.Sprintf("The state doesn't have %s of set %s. Applying takes what is there into the state, and makes nothing twice.", strings.Join(there, ", "), r.door.config.set))
	}
	if len(held) > 0 && !again {
		diags.AddWarning("Machines are in the state already", fmt.Sprintf("%s of set %s. Where this plan destroys them, they are made anew, with empty disks or those of their image; else applying takes what is there.", strings.Join(held, ", "), r.door.config.set))
	}
	return diags
}

// stays is what is known when planning of a machine that is there and is taken. Agents are asked when it is applied.
func stays(name string, g *model.Guest) aMachine {
	m := seen(name, g)
	m.Addresses = types.ListUnknown(types.StringType)
	if g.Status == model.StatusUnknown {
		m.State = types.StringUnknown()
	}
	return m
}

// unclaimed: where people have said so, what is there without a state isn't taken.
func (r *base) unclaimed(ctx context.Context, s *site.Site, w part) (diags diag.Diagnostics) {
	if !r.door.config.refuses {
		return nil
	}
	if goesOn, _ := r.door.claims.unfinished(w); goesOn {
		return nil
	}
	list, err := found(ctx, s, guests(w.owners))
	if err != nil {
		diags.AddError(failure(err))
	}
	for _, m := range list {
		diags.AddError(m.Name.ValueString()+" is there already", fmt.Sprintf("VM %d is %s of set %s, and the state doesn't have it. Import it, or set existing = %q in the provider's block to have it found.",
			m.VMID.ValueInt64(), m.Name.ValueString(), r.door.config.set, adoptExisting))
	}
	return diags
}
