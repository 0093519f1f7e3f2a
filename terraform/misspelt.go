package terraform

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/proxplane/proxplane/terraform/written"
)

// ValidateConfig refuses misspelt names in objects, and warns of provider blocks with one set. Terraform refuses those of a resource's own attributes, and drops those in their objects
// before a provider sees them: they are found in the files of the configuration, whose folder providers are started in.
func (p *plugin) ValidateConfig(ctx context.Context, _ provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	const dropped = "\nTerraform drops names that an object doesn't have, so this one has no effect."
	for _, f := range written.Unknown(".", p.schemas(ctx)) {
		if f.Sure {
			resp.Diagnostics.AddError("Unsupported nested attribute", f.String()+dropped)
			continue
		}
		resp.Diagnostics.AddWarning("A nested attribute has no effect", f.String()+dropped)
	}
	for _, where := range written.SameSet(".", Name) {
		resp.Diagnostics.AddWarning("Two provider blocks have one set", where+".\nEach block is a process of its own, which knows nothing of the resources of the other: two machines of one name would be one, and whichever resource is destroyed takes "+
			"it away. Give each block a set of its own.")
	}
}

// schemas are what blocks of the provider can have. Its data sources and ephemeral resources take no objects.
func (p *plugin) schemas(ctx context.Context) written.Schema {
	var of provider.SchemaResponse
	p.Schema(ctx, provider.SchemaRequest{}, &of)
	s := written.Schema{Name: Name, Provider: written.ShapeOf(of.Schema.Type().TerraformType(ctx)), Blocks: map[string]written.Shape{}}
	for _, made := range p.Resources(ctx) {
		var name resource.MetadataResponse
		var of resource.SchemaResponse
		r := made()
		r.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: Name}, &name)
		r.Schema(ctx, resource.SchemaRequest{}, &of)
		s.Blocks["resource."+name.TypeName] = written.ShapeOf(of.Schema.Type().TerraformType(ctx))
	}
	return s
}
