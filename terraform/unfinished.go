package terraform

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// A creation that failed half-way is in the state, so that destroy takes away what was begun. Terraform calls it tainted then, and would
// destroy it to make it anew: the next apply goes on with it instead. The id in the state says that it is such a one, since of a tainted
// resource Terraform hands nothing else to the deletion.

// unfinishedMark ends the id of what was never finished.
const unfinishedMark = " (unfinished)"

// isUnfinished reports whether a state is that of a creation that failed half-way.
func isUnfinished(ctx context.Context, state tfsdk.State) (bool, diag.Diagnostics) {
	var id types.String
	diags := state.GetAttribute(ctx, path.Root("id"), &id)
	return strings.HasSuffix(id.ValueString(), unfinishedMark), diags
}

// untouched reports whether nothing was begun for a resource: its objects wait for something, or aren't allowed, and nothing is there of
// them.
func untouched(s *site.Site, w part) bool {
	return !slices.ContainsFunc(w.owners, func(owner model.Owner) bool {
		o, known := s.Latest(owner)
		return !known || o.State != engine.StateWaiting && o.State != engine.StateRefused || o.Status != "" || o.Task != "" || len(o.Templates) > 0 || o.Wait == nil && o.State == engine.StateWaiting
	})
}

const replacedKey = "replaced"

// goesOn reports whether what is to be deleted stays, since the next creation goes on with it: it was never finished, and goes to
// be made anew though nobody has asked for that.
func (c *claims) goesOn(ctx context.Context, state tfsdk.State, in private) (bool, diag.Diagnostics) {
	unfinished, diags := isUnfinished(ctx, state)
	toCreate, more := in.GetKey(ctx, plannedKey)
	diags.Append(more...)
	asked, more := in.GetKey(ctx, replacedKey)
	diags.Append(more...)
	return unfinished && len(toCreate) > 0 && len(asked) == 0, diags
}

// resumes says of a resource that Terraform plans to replace that applying goes on with it, and with which machines.
func (w part) resumes(there []string) (diags diag.Diagnostics) {
	what := "what was begun"
	if len(there) > 0 {
		what = shortened(there)
	}
	diags.AddWarning(w.key.Name+" isn't replaced", fmt.Sprintf("It wasn't finished when it was made, so Terraform calls it tainted and plans to replace it. Nothing is destroyed: applying goes on with %s. "+
		"After an untaint of the resource its plan is a change. To have it made anew, destroy it first (destroy -target).", what))
	return diags
}

// stuck keeps what was begun and couldn't be finished.
func (r *base) stuck(ctx context.Context, planned tftypes.Value, state *tfsdk.State) (diags diag.Diagnostics) {
	w, _, _ := r.kind.parse(planned) // what is worth knowing was said by the plan
	raw, err := begun(planned)
	if err != nil {
		diags.AddError("The state can't be written", err.Error())
		return diags
	}
	state.Raw = raw
	diags.Append(state.SetAttribute(ctx, path.Root("id"), r.id(w)+unfinishedMark)...)
	diags.AddWarning(w.key.Name+" isn't finished", "It is in the state as tainted. The next apply goes on with what was begun and destroys nothing, though Terraform says that it is replaced; destroy takes it away.")
	return diags
}

// shortened are the first of some names, and how many more there are.
func shortened(list []string) string {
	const shown = 3
	text := strings.Join(list[:min(len(list), shown)], ", ")
	if more := len(list) - shown; more > 0 {
		text += fmt.Sprintf(" and %d others", more)
	}
	return text
}
