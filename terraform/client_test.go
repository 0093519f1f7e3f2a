package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// client calls the provider as Terraform does, without Terraform: for what it answers to each request.
type client struct {
	*testing.T
	sim    *sim.Server
	plugin provider.Provider
	server tfprotov6.ProviderServer
	types  map[string]tftypes.Type
}

// values are those of some attributes; what isn't named is null.
type values = map[string]any

// unknown is a value that isn't known yet.
type unknown struct{}

// start starts a Proxmox, and a provider for it.
func start(t *testing.T) *client {
	t.Helper()
	t.Parallel()
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	w.Pools = append(w.Pools, pvesim.WorldPool{ID: "lab"})
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 900, Node: "pve1", Template: true, Config: map[string]string{
		"name": "other-template", "ostype": "l26", "scsihw": "virtio-scsi-single", "scsi0": "local:8,format=qcow2", "boot": "order=scsi0",
	}})
	w.Containers = append(w.Containers, pvesim.WorldContainer{ID: 950, Node: "pve1", Config: map[string]string{"hostname": "box"}})
	server, err := sim.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &client{T: t, sim: server}
	c.connect(c.login())
	return c
}

// login is the provider's block that works.
func (c *client) login() values {
	return values{"set": "shop", "endpoint": c.sim.Endpoint, "ca": string(sim.CA()), "token_id": sim.TokenID, "token_secret": sim.TokenSecret}
}

// connect starts a provider with a block.
func (c *client) connect(block values) { c.Helper(); c.connectTo(terraform.New("test")(), block) }

func (c *client) connectTo(p provider.Provider, block values) {
	c.Helper()
	server, err := providerserver.NewProtocol6WithError(p)()
	if err != nil {
		c.Fatal(err)
	}
	all, err := server.GetProviderSchema(c.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		c.Fatal(err)
	}
	c.plugin, c.server, c.types = p, server, map[string]tftypes.Type{}
	for name, s := range all.ResourceSchemas {
		c.types[name] = s.ValueType()
	}
	kind := all.Provider.ValueType()
	resp, err := server.ConfigureProvider(c.Context(), &tfprotov6.ConfigureProviderRequest{Config: packed(c, kind, valueOf(kind, block))})
	if err != nil {
		c.Fatal(err)
	}
	if said := told(resp.Diagnostics); said.failed {
		c.Fatal(said)
	}
}

// said is what the provider says beside its answer.
type said struct {
	failed bool
	text   string
}

func (s said) String() string { return s.text }

func told(list []*tfprotov6.Diagnostic) (s said) {
	for _, d := range list {
		s.failed = s.failed || d.Severity == tfprotov6.DiagnosticSeverityError
		s.text += fmt.Sprintf("%s: %s: %s\n", d.Severity, d.Summary, strings.Join(strings.Fields(d.Detail), " "))
	}
	return s
}

// resourceState is a resource with its state.
type resourceState struct {
	kind    string
	state   tftypes.Value
	private []byte
}

// none is a resource that has no state.
func (c *client) none(kind string) resourceState {
	return resourceState{kind: kind, state: tftypes.NewValue(c.types[kind], nil)}
}

// step is a change that was planned.
type step struct {
	of      resourceState
	config  tftypes.Value
	planned *tfprotov6.DynamicValue
	private []byte
	replace []*tftypes.AttributePath // why it would be destroyed and made anew
}

// plan plans a configuration in a walk of its own.
func (c *client) plan(of resourceState, config values) (step, said) {
	c.Helper()
	terraform.NewWalk(c.plugin)
	return c.planBeside(of, config)
}

// planBeside plans a configuration beside what was planned before.
func (c *client) planBeside(of resourceState, config values) (step, said) {
	c.Helper()
	kind := c.types[of.kind]
	s := step{of: of, config: valueOf(kind, config)}
	proposed := maps.Clone(config)
	for _, name := range []string{"id", "drift", "machines", "created"} { // what is computed stays, or isn't known
		if _, has := kind.(tftypes.Object).AttributeTypes[name]; !has {
			continue
		}
		if proposed[name] = (unknown{}); !of.state.IsNull() {
			var was map[string]tftypes.Value
			if err := of.state.As(&was); err != nil {
				c.Fatal(err)
			}
			proposed[name] = was[name]
		}
	}
	for name := range proposed { // nothing that is write-only is planned
		proposed[name] = withoutSecrets(proposed[name])
	}
	resp, err := c.server.PlanResourceChange(c.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: of.kind, PriorState: packed(c, kind, of.state), PriorPrivate: of.private, ProposedNewState: packed(c, kind, valueOf(kind, proposed)), Config: packed(c, kind, s.config),
	})
	if err != nil {
		c.Fatal(err)
	}
	s.planned, s.private, s.replace = resp.PlannedState, resp.PlannedPrivate, resp.RequiresReplace
	return s, told(resp.Diagnostics)
}

// changes reports whether something is planned.
func (c *client) changes(s step) bool {
	c.Helper()
	v, err := s.planned.Unmarshal(c.types[s.of.kind])
	if err != nil {
		c.Fatal(err)
	}
	return !v.Equal(s.of.state)
}

// apply applies what was planned.
func (c *client) apply(s step) (resourceState, said) {
	c.Helper()
	kind := c.types[s.of.kind]
	resp, err := c.server.ApplyResourceChange(c.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: s.of.kind, PriorState: packed(c, kind, s.of.state), PlannedState: s.planned, PlannedPrivate: s.private, Config: packed(c, kind, s.config),
	})
	if err != nil {
		c.Fatal(err)
	}
	now := s.of
	if now.private = resp.Private; resp.NewState != nil {
		if now.state, err = resp.NewState.Unmarshal(kind); err != nil {
			c.Fatal(err)
		}
	}
	out := told(resp.Diagnostics)
	if !out.failed {
		c.asPlanned(s, now.state)
	}
	return now, out
}

// small is the configuration of a machine with little in it.
func small(name string) values {
	return values{"name": name, "class": values{"cpus": 1, "memory": "1Gi"}, "image": values{"source": "ubuntu-22-template"}}
}

// made plans and applies a machine that isn't there yet.
func (c *client) made(config values) resourceState {
	c.Helper()
	s, said := c.plan(c.none("proxplane_virtual_machine"), config)
	if said.failed {
		c.Fatal(said)
	}
	of, said := c.apply(s)
	if said.failed {
		c.Fatal(said)
	}
	return of
}

// read refreshes a resource.
func (c *client) read(of resourceState) (resourceState, said) {
	c.Helper()
	kind := c.types[of.kind]
	resp, err := c.server.ReadResource(c.Context(), &tfprotov6.ReadResourceRequest{TypeName: of.kind, CurrentState: packed(c, kind, of.state), Private: of.private})
	if err != nil {
		c.Fatal(err)
	}
	if of.private = resp.Private; resp.NewState != nil {
		if of.state, err = resp.NewState.Unmarshal(kind); err != nil {
			c.Fatal(err)
		}
	}
	return of, told(resp.Diagnostics)
}

// moved takes over a resource of another provider.
func (c *client) moved(kind, from string, state values) (resourceState, said) {
	c.Helper()
	raw, err := json.Marshal(state)
	if err != nil {
		c.Fatal(err)
	}
	resp, err := c.server.MoveResourceState(c.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: "registry.opentofu.org/other/other", SourceTypeName: from, SourceState: &tfprotov6.RawState{JSON: raw}, TargetTypeName: kind,
	})
	if err != nil {
		c.Fatal(err)
	}
	of := c.none(kind)
	if of.private = resp.TargetPrivate; resp.TargetState != nil {
		if of.state, err = resp.TargetState.Unmarshal(c.types[kind]); err != nil {
			c.Fatal(err)
		}
	}
	return of, told(resp.Diagnostics)
}

// imported is a resource for what an id names.
func (c *client) imported(kind, id string) (resourceState, said) {
	c.Helper()
	resp, err := c.server.ImportResourceState(c.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: kind, ID: id})
	if err != nil {
		c.Fatal(err)
	}
	of := c.none(kind)
	for _, one := range resp.ImportedResources {
		of.private = one.Private
		if of.state, err = one.State.Unmarshal(c.types[kind]); err != nil {
			c.Fatal(err)
		}
	}
	return of, told(resp.Diagnostics)
}

// conf is what Proxmox has of a machine.
func (c *client) conf(name string) (conf map[string]string) {
	c.Helper()
	c.sim.Do(func(st *pvesim.State) {
		if vm := sim.VM(st, name); vm != nil {
			conf = maps.Clone(vm.Conf)
		}
	})
	return conf
}
