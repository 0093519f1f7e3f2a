package terraform

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/proxplane/proxplane/site"
)

// Name is what the provider is called, and what the names of its resources begin with.
const Name = "proxplane"

// New makes the provider.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &plugin{version: version, getenv: os.Getenv, open: site.Open} }
}

// plugin is the provider.
type plugin struct {
	version string
	getenv  func(string) string
	open    opener
	door    *door // that was configured last
}

// opener opens a site.
type opener func(site.Config, site.Options) (*site.Site, error)

var (
	_ provider.ProviderWithFunctions          = (*plugin)(nil)
	_ provider.ProviderWithValidateConfig     = (*plugin)(nil)
	_ provider.ProviderWithEphemeralResources = (*plugin)(nil)
)

func (p *plugin) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = Name, p.version
}

// login are the attributes that say who is logged in, with the variable that each stands for.
var login = []struct{ name, variable, about string }{
	{"token_id", "PVE_TOKEN_ID", "The API token to log in with, such as terraform@pve!ci. Default: PVE_TOKEN_ID, or the first part of PROXMOX_VE_API_TOKEN."},
	{"token_secret", "PVE_TOKEN_SECRET", "Its secret. Default: PVE_TOKEN_SECRET, or the second part of PROXMOX_VE_API_TOKEN."},
	{"username", "PVE_USERNAME", "The user to log in as where a token isn't enough, such as root@pam. Default: PVE_USERNAME or PROXMOX_VE_USERNAME."},
	{"password", "PVE_PASSWORD", "The user's password. Default: PVE_PASSWORD or PROXMOX_VE_PASSWORD."},
	{"ca", "PVE_CA_BUNDLE", "The certificates of the authority that has signed Proxmox', in PEM, or the name of their file. Default: PVE_CA_BUNDLE."},
}

// setVariable names the set where the provider's block doesn't.
const setVariable = "PROXPLANE_SET"

func (p *plugin) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "Machines on Proxmox VE: planned by the same engine as the command line and the Kubernetes operator of proxplane.",
		Attributes:  settings(providerFields()),
	}
	for _, l := range login {
		resp.Schema.Attributes[l.name] = schema.StringAttribute{Optional: true, Description: l.about, Sensitive: l.name == "token_secret" || l.name == "password"}
	}
	resp.Schema.Attributes["existing"] = schema.StringAttribute{Optional: true, Description: "What is done with machines of the set that are there while the state has none, since it was lost or an apply was interrupted: " +
		adoptExisting + " takes them, " + refuseExisting + " is an error when planning. Default: " + adoptExisting + "."}
	resp.Schema.Attributes["refresh"] = schema.StringAttribute{Optional: true, Description: fmt.Sprintf("What is read of machines that were left up to date, whenever they are looked at. %s: the cluster's lists, which show changes of "+
		"node, name, tags, pool, power, CPUs, memory and root disk, and the configs of up to %d machines, so that with no more of them every change by hand is seen. With more, %d have their turn each minute. "+
		"%s: the config of each machine, with a request for each. What is to be changed is always read. Default: as %s, with a warning in plans if configs weren't read.", refreshLists, few, turn, refreshConfigs, refreshLists)}
	resp.Schema.Attributes["set"] = schema.StringAttribute{Optional: true, Description: "The name of what this configuration makes on the Proxmox cluster, such as shop-${terraform.workspace}. " +
		"Machines are known by it, so that a lost state loses nothing: two configurations or workspaces never use the same. Default: " + setVariable + "."}
}

// providerFields are those of a Provider that mean something here.
func providerFields() []field { return fieldsOf("Provider") }

func (p *plugin) Configure(_ context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	c, known, diags := p.read(req.Config.Raw)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !known {
		if req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
		}
		return // nothing can be planned by it; whoever tries says so
	}
	d := newDoor(*c, p.open)
	p.door = d
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = d, d, d
}

func (p *plugin) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return newMachine() },
		func() resource.Resource { return newImage() },
		func() resource.Resource { return newManifests() },
		func() resource.Resource { return newClone() },
		func() resource.Resource { return newPlacement() },
		func() resource.Resource { return newSnapshot() },
		func() resource.Resource { return unmanaged{} },
	}
}

func (p *plugin) DataSources(context.Context) []func() datasource.DataSource { return sources() }

func (p *plugin) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return secret{p.getenv} }}
}

func (p *plugin) Functions(context.Context) []func() function.Function { return functions() }
