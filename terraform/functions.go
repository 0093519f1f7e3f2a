package terraform

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// functions are all functions of the provider. They need no Proxmox and no configured provider.
func functions() []func() function.Function {
	return []func() function.Function{
		func() function.Function { return butaneFunction{} },
		func() function.Function { return cloudConfigFunction{} },
		func() function.Function { return macFunction{} },
	}
}

// butaneFunction is butane(text, options...).
type butaneFunction struct{}

func (butaneFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "butane"
}

func (butaneFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Turns a Butane config into an Ignition config.",
		Description: "Turns a Butane config into an Ignition config, as user_data.butane does: what Butane only warns of is an error, and ${name} is replaced by the value of a variable. " +
			"Machines don't need it, since they take Butane itself; it is for what else needs the Ignition config, such as outputs.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "text", Description: "The Butane config."},
		},
		VariadicParameter: function.DynamicParameter{Name: "options", Description: "An object with what else there is, all of it optional: snippets (Butane configs that are put on top of the text, in their order), " +
			"folder (the directory with the local files that the configs name) and variables (vm_id, vm_name, vm_count and vm_index, as machines have them, and your own)."},
		Return: function.StringReturn{},
	}
}

func (butaneFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	var options []types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &text, &options); resp.Error != nil {
		return
	}
	out, err := butane(ctx, text, options)
	switch {
	case errors.Is(err, errUnknown):
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
	case err != nil:
		resp.Error = function.NewFuncError(err.Error())
	default:
		resp.Error = resp.Result.Set(ctx, out)
	}
}

// butane is the Ignition config of a Butane config.
func butane(ctx context.Context, text string, options []types.Dynamic) (string, error) {
	r := firstboot.Recipe{Butane: []string{text}, Variables: map[string]string{}}
	if len(options) > 1 {
		return "", errors.New("want one object of options, have several")
	}
	for _, o := range options {
		value, err := plain(ctx, o)
		if err != nil {
			return "", err
		}
		if err := butaneOptions(&r, value); err != nil {
			return "", err
		}
	}
	id, given := r.Variables[firstboot.VarID]
	vmid, err := strconv.Atoi(id)
	switch {
	case given && err != nil:
		return "", fmt.Errorf("variables.%s: want a VMID, have %q", firstboot.VarID, id)
	case !given && r.PerGuest():
		return "", fmt.Errorf("the config uses ${%s}, which variables don't have", firstboot.VarID)
	}
	out, _, err := r.Config(vmid)
	var wrong *firstboot.PartError
	if errors.As(err, &wrong) && wrong.Part > 0 {
		return "", fmt.Errorf("snippets[%d]: %w", wrong.Part-1, wrong.Err)
	}
	return out, err
}

// butaneOptions takes the options of butane.
func butaneOptions(r *firstboot.Recipe, value any) error {
	options, ok := value.(map[string]any)
	if value != nil && !ok {
		return errors.New("want an object of options: { snippets = […], folder = …, variables = {…} }")
	}
	for name, value := range options {
		switch {
		case value == nil:
		case name == "snippets":
			list, ok := value.([]any)
			for _, item := range list {
				text, is := item.(string)
				r.Butane, ok = append(r.Butane, text), ok && is
			}
			if !ok {
				return errors.New("snippets: want a list of Butane configs")
			}
		case name == "folder":
			if r.Folder, ok = value.(string); !ok {
				return errors.New("folder: want the path of a directory")
			}
		case name == "variables":
			all, ok := value.(map[string]any)
			for name, value := range all {
				switch value.(type) {
				case string, bool, int64, float64:
					r.Variables[name] = fmt.Sprint(value)
				default:
					ok = false
				}
			}
			if !ok {
				return errors.New("variables: want a map of texts")
			}
		default:
			return fmt.Errorf("%s: there is no such option; there are snippets, folder and variables", name)
		}
	}
	return nil
}

// cloudConfigFunction is cloud_config(parts...).
type cloudConfigFunction struct{}

func (cloudConfigFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "cloud_config"
}

func (cloudConfigFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Writes a cloud-config.",
		Description: "Writes a cloud-config for user_data.cloud_init from objects, or from texts that are cloud-configs already. Several become one: lists are joined in their order, objects are merged, " +
			"and of other values the last one counts.",
		VariadicParameter: function.DynamicParameter{Name: "parts", Description: "What the cloud-config says: { packages = [\"nginx\"] }, or file(\"base.yaml\")."},
		Return:            function.StringReturn{},
	}
}

func (cloudConfigFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var parts []types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &parts); resp.Error != nil {
		return
	}
	var list []any
	for i, p := range parts {
		value, err := plain(ctx, p)
		switch {
		case errors.Is(err, errUnknown):
			resp.Error = resp.Result.Set(ctx, types.StringUnknown())
			return
		case err != nil:
			resp.Error = function.NewArgumentFuncError(int64(i), err.Error())
			return
		}
		list = append(list, value)
	}
	text, err := firstboot.JoinCloudConfigs(list...)
	var wrong *firstboot.PartError
	switch {
	case errors.As(err, &wrong):
		resp.Error = function.NewArgumentFuncError(int64(wrong.Part), wrong.Error())
	case err != nil:
		resp.Error = function.NewFuncError(err.Error())
	default:
		resp.Error = resp.Result.Set(ctx, text)
	}
}

// macFunction is mac(set, machine, network).
type macFunction struct{}

func (macFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "mac"
}

func (macFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Returns the MAC address of a machine's network interface.",
		Description: "Returns the MAC address that an interface has unless networks.mac says otherwise. It depends on the names only, so that DHCP servers and firewalls can be configured before there is a machine. " +
			"Machines of other sets have other addresses.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "set", Description: "The set of the provider's block."},
			function.StringParameter{Name: "machine", Description: "The name of the machine; with replicas, that of one of them: web-1."},
			function.StringParameter{Name: "network", Description: "The name of the interface, as networks has it."},
		},
		Return: function.StringReturn{},
	}
}

func (macFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var set, machine, network string
	if resp.Error = req.Arguments.Get(ctx, &set, &machine, &network); resp.Error != nil {
		return
	}
	for i, name := range []string{set, machine, network} {
		if strings.TrimSpace(name) == "" {
			resp.Error = function.NewArgumentFuncError(int64(i), "want a name, have nothing")
			return
		}
	}
	owner := model.Owner{Door: Door, Set: set, Key: model.Key{Kind: "VirtualMachine", Name: machine}}
	resp.Error = resp.Result.Set(ctx, spec.MAC(owner, network))
}
