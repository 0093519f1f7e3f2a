package terraform

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// manifests is the resource proxplane_manifest: manifests of the vm door, as they are.
type manifests struct {
	base
	shown
}

func newManifests() *manifests {
	r := &manifests{}
	r.base = base{kind: r, suffix: "_manifest"}
	return r
}

func (r *manifests) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	a := map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true, Description: "A name for these manifests. It can be changed: machines stay as they are."},
		"yaml": schema.StringAttribute{Required: true, Description: "Manifests as proxplane apply takes them, several of them separated by ---: file(\"machines.yaml\"). What they say of Providers isn't needed: the provider of this resource is meant."},
	}
	a["machines"] = machinesAttribute()
	common(ctx, a)
	resp.Schema = schema.Schema{Description: "Any manifests of proxplane, as they are: machines, classes, images, placement policies, snapshots, clones.", Attributes: a}
}

func (r *manifests) parse(raw tftypes.Value) (w part, known bool, diags diag.Diagnostics) {
	said, name, diags := saidOf([]field{{name: "name", key: "name"}, {name: "yaml", key: "yaml"}}, raw)
	if name == "" {
		return w, false, diags
	}
	text, _ := said["yaml"].(string)
	w.key, w.label = model.Key{Kind: "Manifest", Name: name}, true
	w.wanted, diags = r.door.translateText("yaml", []byte(text))
	for _, v := range w.wanted.Desired.VMs {
		w.owners = append(w.owners, v.Owner)
	}
	for _, i := range w.wanted.Desired.Images {
		if !i.Implied {
			w.owners = append(w.owners, i.Owner)
		}
	}
	for _, s := range w.wanted.Desired.Snapshots {
		w.owners = append(w.owners, s.Owner)
	}
	return w, true, diags
}

// look: manifests are there as long as somebody wants them, whatever has become of their machines.
func (r *manifests) look(ctx context.Context, s *site.Site, w part, objects []plan.Object, state *tfsdk.State) (bool, diag.Diagnostics) {
	_, diags := r.shown.look(ctx, s, w, objects, state)
	return true, diags
}

// shrink: objects that the manifests don't name any more go.
func (r *manifests) shrink(w *part, state tfsdk.State) diag.Diagnostics {
	was, known, diags := r.parse(state.Raw)
	if !known || diags.HasError() {
		return diags
	}
	left := was.wanted.Desired
	left.Delete()
	w.wanted.Desired, w.leaves = together(w.wanted.Desired, left, w.owners)
	return diags
}

func (r *manifests) leave(want model.Desired) model.Desired {
	want.Delete()
	return want
}

// together is what is wanted, with what is to go beside it, and whose that is.
func together(want, left model.Desired, stay []model.Owner) (model.Desired, []model.Owner) {
	stays := map[model.Key]bool{}
	for _, o := range stay {
		stays[o.Key] = true
	}
	var leaves []model.Owner
	for _, v := range left.VMs {
		if !stays[v.Owner.Key] {
			want.VMs, leaves = append(want.VMs, v), append(leaves, v.Owner)
		}
	}
	for _, i := range left.Images {
		if !stays[i.Owner.Key] && !i.Implied {
			want.Images, leaves = append(want.Images, i), append(leaves, i.Owner)
		}
	}
	for _, s := range left.Snapshots {
		if !stays[s.Owner.Key] {
			want.Snapshots, leaves = append(want.Snapshots, s), append(leaves, s.Owner)
		}
	}
	return want, leaves
}

// translateText is translate for manifests as people write them.
func (d *door) translateText(file string, text []byte) (manifest.Wanted, diag.Diagnostics) {
	set, err := manifest.Parse(file, text)
	if err != nil {
		return manifest.Wanted{}, toldAsWritten(err)
	}
	var diags diag.Diagnostics
	for _, k := range set.Keys() {
		switch k.Kind {
		case "Provider":
			diags.AddAttributeError(path.Root("yaml"), "A Provider is in the manifests", "Leave "+k.Title()+" out: the provider's block of this configuration says which Proxmox is meant, and how its networks are called.")
		case "Secret":
			diags.AddAttributeError(path.Root("yaml"), "A Secret is in the manifests", "Leave "+k.Title()+" out: the state and plans would have it in plain text. Machines with secrets are proxplane_virtual_machine, whose write-only attributes neither keeps.")
		}
	}
	if diags.HasError() {
		return manifest.Wanted{}, diags
	}
	provider, err := document{kind: "Provider", name: provided, spec: d.config.provider}.text()
	if err != nil {
		return manifest.Wanted{}, toldAsWritten(err)
	}
	// The Provider comes last, so that lines are those of the manifests.
	set, err = manifest.Parse(file, slices.Concat(text, []byte("\n"), provider))
	if err != nil {
		return manifest.Wanted{}, toldAsWritten(err)
	}
	wanted, err := d.wanted(set)
	if err != nil {
		return manifest.Wanted{}, toldAsWritten(err)
	}
	for _, n := range set.Notes() {
		diags.AddWarning(worthKnowing, n)
	}
	return wanted, diags

}
