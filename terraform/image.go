package terraform

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// image is the resource proxplane_image: a VMImage.
type image struct {
	base
	fields []field
}

func newImage() *image {
	r := &image{fields: append(fieldsOf("VMImage"), field{name: "name", key: "name", required: true, about: "The name of the image. Another name is another image."})}
	r.base = base{kind: r, suffix: "_image"}
	return r
}

func (r *image) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	a := attributes(r.fields)
	a["templates"] = schema.ListNestedAttribute{Computed: true, Description: "The templates that the image stands for.", NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
		"vmid": schema.Int64Attribute{Computed: true, Description: "Its VMID."},
		"node": schema.StringAttribute{Computed: true, Description: "The node that it is on."},
	}}}
	common(ctx, a)
	resp.Schema = schema.Schema{Description: "What machines are made from: a template that is there, or a disk image that is fetched from a URL, on each node that needs it.", Attributes: a}
}

func (r *image) parse(raw tftypes.Value) (w part, known bool, diags diag.Diagnostics) {
	said, name, diags := saidOf(r.fields, raw)
	if name == "" {
		return w, false, diags
	}
	doc, _ := imageDocument(said)
	w.key = model.Key{Kind: "VMImage", Name: name}
	w.wanted, diags = r.door.translate(doc)
	for _, i := range w.wanted.Desired.Images {
		w.owners = append(w.owners, i.Owner)
	}
	return w, true, diags
}

// imageDocument is the manifest of what machines are made from.
func imageDocument(said map[string]any) (doc document, diags diag.Diagnostics) {
	spec := map[string]any{}
	for key, value := range said {
		if key != "name" {
			spec[key] = value
		}
	}
	name, _ := said["name"].(string)
	if name == "" && spec["url"] != nil {
		diags.AddError("image has a url and no name", "What is fetched belongs to a resource of its own: make a proxplane_image with this url, and say image = proxplane_image.NAME here.")
	}
	if name == "" {
		name = called("image", spec)
	}
	return document{kind: "VMImage", name: name, spec: spec}, diags
}

// template is one of the templates of an image, as the attribute templates has it.
type template struct {
	VMID types.Int64  `tfsdk:"vmid"`
	Node types.String `tfsdk:"node"`
}

// templatesOf are those that an image stands for.
func templatesOf(list []model.Template) []template {
	all := []template{}
	for _, t := range list {
		all = append(all, template{types.Int64Value(int64(t.VMID)), types.StringValue(t.Node)})
	}
	return all
}

func (r *image) foresee(ctx context.Context, w part, objects []plan.Object, state tfsdk.State, planned *tfsdk.Plan) diag.Diagnostics {
	templates := path.Root("templates")
	unknown := types.ListUnknown(types.ObjectType{AttrTypes: map[string]attr.Type{"vmid": types.Int64Type, "node": types.StringType}})
	for _, o := range objects {
		if len(o.Steps) > 0 {
			return planned.SetAttribute(ctx, templates, unknown)
		}
	}
	if state.Raw.IsNull() {
		return planned.SetAttribute(ctx, templates, unknown)
	}
	var was []template
	diags := state.GetAttribute(ctx, templates, &was)
	diags.Append(planned.SetAttribute(ctx, templates, was)...)
	return diags
}

func (r *image) pin(context.Context, *part, tfsdk.Plan) diag.Diagnostics { return nil }

func (r *image) fill(ctx context.Context, _ *site.Site, _ part, outcomes map[model.Key]site.Outcome, state *tfsdk.State) diag.Diagnostics {
	var all []model.Template
	for _, o := range outcomes {
		all = append(all, o.Templates...)
	}
	return state.SetAttribute(ctx, path.Root("templates"), templatesOf(all))
}

func (r *image) look(ctx context.Context, _ *site.Site, _ part, objects []plan.Object, state *tfsdk.State) (bool, diag.Diagnostics) {
	var all []model.Template
	for _, o := range objects {
		all = append(all, o.Templates...)
	}
	return true, state.SetAttribute(ctx, path.Root("templates"), templatesOf(all))
}

func (r *image) shrink(*part, tfsdk.State) diag.Diagnostics { return nil }

func (r *image) leave(want model.Desired) model.Desired {
	want.Delete()
	return want
}
