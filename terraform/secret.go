package terraform

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// secret is the ephemeral resource proxplane_secret: a text from a file or a variable of the environment of whoever
// runs Terraform, for write-only attributes. Neither the state nor a plan has it.
type secret struct{ getenv func(string) string }

// aSecret is what its block says.
type aSecret struct {
	File     types.String `tfsdk:"file"`
	Variable types.String `tfsdk:"variable"`
	Value    types.String `tfsdk:"value"`
}

func (secret) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_secret"
}

func (secret) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A secret of whoever runs Terraform, for write-only attributes such as user_data.cloud_init.inline_wo: neither the state nor a plan has it.",
		Attributes: map[string]schema.Attribute{
			"file":     schema.StringAttribute{Optional: true, Description: "The name of a file that has it. Line breaks at its end don't count."},
			"variable": schema.StringAttribute{Optional: true, Description: "The name of a variable of the environment that has it."},
			"value":    schema.StringAttribute{Computed: true, Sensitive: true, Description: "The secret."},
		},
	}
}

// Open reads the secret.
func (s secret) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var is aSecret
	if resp.Diagnostics.Append(req.Config.Get(ctx, &is)...); resp.Diagnostics.HasError() {
		return
	}
	value, diags := s.read(is.File.ValueString(), is.Variable.ValueString())
	if resp.Diagnostics.Append(diags...); diags.HasError() {
		return
	}
	is.Value = types.StringValue(value)
	resp.Diagnostics.Append(resp.Result.Set(ctx, is)...)
}

func (s secret) read(file, variable string) (value string, diags diag.Diagnostics) {
	switch {
	case (file == "") == (variable == ""):
		diags.AddError("The secret is nowhere", "Say one of file and variable.")
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			diags.AddError("The secret can't be read", err.Error())
		}
		value = strings.TrimRight(string(text), "\r\n")
	default:
		value = s.getenv(variable)
	}
	if value == "" && !diags.HasError() {
		diags.AddError("The secret is empty", fmt.Sprintf("There is nothing in %s.", strings.TrimSpace(file+" "+variable)))
	}
	return value, diags
}
