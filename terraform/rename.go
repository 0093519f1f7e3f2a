package terraform

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/numberplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/status"
)

// another reports whether a resource is another one by its name than it was. It isn't if something of it goes on: web-1, if its
// resource becomes several of web.
func (w part) another(was part) bool {
	return w.key != was.key && !w.label && !slices.ContainsFunc(was.owners, func(o model.Owner) bool { return slices.Contains(w.owners, o) })
}

// renamed has Terraform replace a resource that is another one by its name.
func (r *base) renamed(ctx context.Context, w part, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if was, is := r.formerly(ctx, req, resp); is && w.another(was) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("name"))
	}
}

// formerly is what the state has of a resource that is called otherwise there. What was imported and isn't ours yet can have any
// name.
func (r *base) formerly(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) (was part, is bool) {
	if req.State.Raw.IsNull() {
		return was, false
	}
	var before, now types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &before)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("name"), &now)...)
	p, diags := readPending(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || p != nil || before.Equal(now) {
		return was, false
	}
	was, _, _ = r.recall(req.State.Raw) // what is wrong with it is said when it is read
	return was, true
}

// unsure plans for a resource of which not all is known yet: Terraform asks again when it is applied. Nothing is destroyed on the mere chance
// that its name is another one then, and what it is called by now isn't destroyed for a resource of another address.
func (r *base) unsure(ctx context.Context, again bool, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	w, named := r.kind.sketch(req.Config.Raw)
	if named {
		if resp.Diagnostics.Append(r.door.claims.plan(w, again)...); resp.Diagnostics.HasError() {
			return
		}
		r.remember(ctx, w, req.State)
	}
	was, is := r.formerly(ctx, req, resp)
	_, machines := r.kind.(*machine)
	switch {
	case !is, named && !w.another(was), !named && !w.anew:
	case machines && !w.anew:
		resp.Diagnostics.Append(w.anotherMachine(names(was.owners)))
	default:
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("name"))
	}
	if machines && !req.State.Raw.IsNull() && !resp.Diagnostics.HasError() {
		resp.Diagnostics.AddWarning("Not all is known yet", "What the change does to machines that are there is found out when it is applied, since some values aren't known before. What update_policy doesn't allow is refused then.")
	}
}

// anotherMachine says that a name takes consent.
func (w part) anotherMachine(leaves string) diag.Diagnostic {
	advice := "set " + status.Terraform.Consent(model.AllowReplace) + " to allow it"
	if w.key.Kind == "VMClone" { // which has no such policy
		advice = "destroy it first, with destroy -target"
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("name"), "Another name is another machine", fmt.Sprintf("%s would be destroyed, with all disks, to make %s: %s. guest_name is what the guest is called in Proxmox; that can be changed.",
		leaves, w.comes(), advice)+plansFirst)
}

// comes names what is made.
func (w part) comes() string {
	if len(w.owners) == 0 {
		return w.key.Name
	}
	return names(w.owners)
}

// consents reports whether a machine's update_policy allows something.
func consents(said map[string]any, to string) bool {
	policy, _ := said["updatePolicy"].(map[string]any)
	return policy[to] == "Allow"
}

func (r *machine) sketch(raw tftypes.Value) (w part, named bool) {
	agreed, _, _ := manifestOf([]field{{name: "update_policy", key: "updatePolicy", shape: object, fields: []field{{name: "replace", key: "replace"}}}}, raw)
	w.anew = consents(agreed, "replace")
	said, all, _ := manifestOf([]field{{name: "name", key: "name"}, {name: "replicas", key: "count", shape: integer}}, raw)
	name, _ := said["name"].(string)
	if w.key = (model.Key{Kind: r.of, Name: name}); name == "" || !all {
		return w, name != ""
	}
	count, several := said["count"].(int64)
	if !several {
		w.owners = []model.Owner{r.owner(name)}
	}
	for i := range min(int(count), spec.MaxReplicas) {
		w.owners = append(w.owners, r.owner(spec.ReplicaName(name, i)))
	}
	return w, true
}

// owner is whose a machine of this resource is.
func (r *machine) owner(name string) model.Owner {
	return model.Owner{Door: Door, Set: r.door.config.set, Key: model.Key{Kind: r.of, Name: name}}
}

func (r *manifests) sketch(raw tftypes.Value) (part, bool) {
	w, named := sketch("Manifest", raw)
	w.label = true
	return w, named
}

func (r *image) sketch(raw tftypes.Value) (part, bool) { return sketch("VMImage", raw) }

// sketch: a snapshot is known by its machine, too.
func (r *snapshot) sketch(tftypes.Value) (part, bool) { return part{}, false }

// sketch is a resource by its name.
func sketch(kind string, raw tftypes.Value) (w part, named bool) {
	said, _, _ := manifestOf([]field{{name: "name", key: "name"}}, raw)
	name, _ := said["name"].(string)
	return part{key: model.Key{Kind: kind, Name: name}}, name != ""
}

// ofAnother: a snapshot of another machine is another snapshot. One that isn't known yet is likely the same: to replace it would lose what
// it is for.
func ofAnother() planmodifier.Number {
	const text = "Another VMID is another snapshot."
	return numberplanmodifier.RequiresReplaceIf(func(_ context.Context, req planmodifier.NumberRequest, resp *numberplanmodifier.RequiresReplaceIfFuncResponse) {
		resp.RequiresReplace = !req.PlanValue.IsUnknown()
	}, text, text)
}
