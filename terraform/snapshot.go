package terraform

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec"
)

// snapshot is the resource proxplane_snapshot: a snapshot of a machine of the set, which another resource
// looks after.
type snapshot struct {
	base
	fields []field
}

// snapshotKind is the kind of its objects. It isn't that of manifests, so that what those say about how many
// snapshots are kept doesn't count these.
const snapshotKind = "Snapshot"

func newSnapshot() *snapshot {
	r := &snapshot{fields: append(
		fieldsOf("VMSnapshot", "revert", "keep"),
		field{name: "name", key: "name", required: true, about: "The name of the snapshot, which several machines can have. Another name is another snapshot."},
		field{name: "vmid", key: "vmid", shape: integer, required: true, about: "The machine, by its VMID: proxplane_virtual_machine.web.machines[0].vmid. It is one of this set. Another VMID is another snapshot."},
	)}
	r.base = base{kind: r, suffix: "_snapshot"}
	return r
}

func (r *snapshot) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	a := attributes(r.fields)
	vmid := a["vmid"].(schema.NumberAttribute)
	vmid.PlanModifiers = []planmodifier.Number{ofAnother()}
	a["vmid"] = vmid
	a["created"] = schema.StringAttribute{Computed: true, Description: "When it was taken, in RFC 3339."}
	common(ctx, a)
	resp.Schema = schema.Schema{Description: "A snapshot of a machine. It stays as it was taken: for a new one, give it another name, or use -replace. Nothing goes back to it by itself: that is done in Proxmox, or by the snapshot command of proxplane.", Attributes: a}
}

func (r *snapshot) parse(raw tftypes.Value) (w part, known bool, diags diag.Diagnostics) {
	said, name, diags := saidOf(r.fields, raw)
	if name == "" {
		return w, false, diags
	}
	w.wanted, diags = r.door.translate()
	vmid, _ := said["vmid"].(int64)
	about, _ := said["description"].(string)
	memory, _ := said["includeMemory"].(bool)
	w.from = int(vmid)
	w.key = model.Key{Kind: snapshotKind, Name: fmt.Sprintf("%d-%s", vmid, name)}
	owner := model.Owner{Door: Door, Set: r.door.config.set, Key: w.key}
	snap, wrong := spec.Snapshot{Owner: owner, Of: &spec.Machine{}, Description: about, IncludeMemory: memory}.Translate()
	for _, e := range wrong {
		diags.AddError(snake(e.Field)+" isn't right", attributesIn(e.Text.String()))
	}
	snap.VMID, snap.Name = w.from, spec.SnapshotName(name)
	w.wanted.Desired.Snapshots, w.owners = []model.Snapshot{snap}, []model.Owner{owner}
	return w, true, diags
}

func (r *snapshot) foresee(ctx context.Context, _ part, objects []plan.Object, state tfsdk.State, planned *tfsdk.Plan) diag.Diagnostics {
	created := types.StringUnknown()
	var diags diag.Diagnostics
	if !state.Raw.IsNull() && !slices.ContainsFunc(objects, func(o plan.Object) bool { return len(o.Steps) > 0 }) {
		diags = state.GetAttribute(ctx, path.Root("created"), &created)
	}
	diags.Append(planned.SetAttribute(ctx, path.Root("created"), created)...)
	return diags
}

func (r *snapshot) pin(context.Context, *part, tfsdk.Plan) diag.Diagnostics { return nil }

func (r *snapshot) fill(ctx context.Context, s *site.Site, w part, _ map[model.Key]site.Outcome, state *tfsdk.State) diag.Diagnostics {
	_, diags := r.look(ctx, s, w, nil, state)
	return diags
}

func (r *snapshot) look(ctx context.Context, s *site.Site, w part, _ []plan.Object, state *tfsdk.State) (there bool, diags diag.Diagnostics) {
	list, err := snapshotsOf(ctx, s, w.from)
	if err != nil {
		diags.AddError(failure(err))
		return false, diags
	}
	for _, i := range list {
		if _, m, ok := model.ParseDescription(i.Description); ok && m.Owner == w.owners[0] {
			return true, state.SetAttribute(ctx, path.Root("created"), time.Unix(i.Time, 0).UTC().Format(time.RFC3339))
		}
	}
	return false, nil
}

// snapshotsOf are the snapshots of a guest, which are read if they aren't known.
func snapshotsOf(ctx context.Context, s *site.Site, vmid int) (list []model.SnapshotInfo, err error) {
	known := false
	see := func(have *model.Observed) {
		if g := have.Guests[vmid]; g != nil {
			list, known = g.Snapshots, g.Snapshots != nil
		}
	}
	if err = s.View(ctx, see); err == nil && !known {
		if err = s.Observer().Snapshots(ctx, vmid); err == nil {
			err = s.View(ctx, see)
		}
	}
	return list, err
}

// shrink: what a snapshot is can't be changed, and replacing it would lose what it is for.
func (r *snapshot) shrink(w *part, state tfsdk.State) diag.Diagnostics {
	was, known, diags := r.parse(state.Raw)
	if !known || diags.HasError() || was.key != w.key {
		return diags
	}
	before, now := was.wanted.Desired.Snapshots[0], w.wanted.Desired.Snapshots[0]
	const advice = "A snapshot stays as it was taken. Give a new one another name; tofu apply -replace=ADDRESS deletes this one and takes it anew."
	if before.Description != now.Description {
		diags.AddAttributeError(path.Root("description"), "description can't be changed", advice)
	}
	if before.Memory != now.Memory {
		diags.AddAttributeError(path.Root("include_memory"), "include_memory can't be changed", advice)
	}
	return diags
}

func (r *snapshot) leave(want model.Desired) model.Desired {
	want.Delete()
	return want
}
