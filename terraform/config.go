package terraform

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// config is what the provider's block says.
type config struct {
	set      string
	refuses  bool                // machines of the set that the state doesn't have
	refresh  string              // what is read whenever machines are looked at; empty: people haven't said
	provider map[string]any      // as the spec of a Provider
	getenv   func(string) string // what the block says, else the environment
}

var setName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// read takes the provider's block. It reports false if some of it isn't known yet.
func (p *plugin) read(raw tftypes.Value) (*config, bool, diag.Diagnostics) {
	var diags diag.Diagnostics
	spec, known, err := manifestOf(providerFields(), raw)
	if err != nil {
		diags.AddError("The provider's block can't be read", err.Error())
		return nil, false, diags
	}
	said, sure, err := manifestOf(ownFields(), raw)
	if err != nil {
		diags.AddError("The provider's block can't be read", err.Error())
		return nil, false, diags
	}
	if !known || !sure {
		return nil, false, diags
	}
	c := &config{provider: spec}
	c.getenv = func(name string) string {
		for _, l := range login {
			if l.variable == name && says(said, l.name) {
				return said[l.name].(string)
			}
		}
		if overruled(said, name) {
			return ""
		}
		return p.getenv(name)
	}
	c.set, _ = said["set"].(string)
	if c.set == "" {
		c.set = p.getenv(setVariable)
	}
	switch {
	case c.set == "":
		diags.AddAttributeError(path.Root("set"), "The set has no name", "Name what this configuration makes, such as set = \"shop\", or \"shop-${terraform.workspace}\" if it has workspaces: machines are known by it. "+setVariable+" says it, too.")
	case !setName.MatchString(c.set):
		diags.AddAttributeError(path.Root("set"), "The set's name can't be used", "Want up to 63 small letters, digits and -, beginning and ending with a letter or digit.")
	}
	switch existing, _ := said["existing"].(string); existing {
	case "", adoptExisting:
	case refuseExisting:
		c.refuses = true
	default:
		diags.AddAttributeError(path.Root("existing"), "existing can't be so", "Want "+adoptExisting+" or "+refuseExisting+".")
	}
	switch c.refresh, _ = said["refresh"].(string); c.refresh {
	case "", refreshLists, refreshConfigs:
	default:
		diags.AddAttributeError(path.Root("refresh"), "refresh can't be so", "Want "+refreshLists+" or "+refreshConfigs+".")
	}
	return c, true, diags
}

// says reports whether the provider's block says something in an attribute.
func says(said map[string]any, name string) bool {
	v, ok := said[name].(string)
	return ok && v != ""
}

// overruled reports whether a variable of the environment means nothing beside the provider's block: it would have another one log in than the block
// says, or trust another certificate.
func overruled(said map[string]any, variable string) bool {
	switch variable {
	case "PVE_TOKEN_ID", "PVE_TOKEN_SECRET", "PROXMOX_VE_API_TOKEN":
		return !says(said, "token_id") && !says(said, "token_secret") && (says(said, "username") || says(said, "password"))
	case "PVE_FINGERPRINT", "PVE_INSECURE_SKIP_VERIFY", "PROXMOX_VE_INSECURE":
		return says(said, "ca")
	}
	return false
}

// What is read of machines whenever they are looked at.
const (
	refreshLists   = "Lists"
	refreshConfigs = "Configs"
)

// What becomes of machines of the set that are there, and not in the state.
const (
	adoptExisting  = "Adopt"
	refuseExisting = "Refuse"
)

// ownFields are the attributes of the provider that a Provider doesn't have.
func ownFields() []field {
	all := []field{{name: "set", key: "set"}, {name: "existing", key: "existing"}, {name: "refresh", key: "refresh"}}
	for _, l := range login {
		all = append(all, field{name: l.name, key: l.name})
	}
	return all
}
