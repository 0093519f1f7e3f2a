package terraform_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// unfinished is a machine whose creation has failed half-way.
func (c *client) unfinished(config values) resourceState {
	c.Helper()
	fault, err := c.sim.AddFault(pvesim.Fault{Task: "qmstart", Error: "MAX 0 vcpus allowed per VM on this node"})
	if err != nil {
		c.Fatal(err)
	}
	defer c.sim.RemoveFault(fault)
	s, said := c.plan(c.none("proxplane_virtual_machine"), config)
	if said.failed {
		c.Fatal(said)
	}
	of, said := c.apply(s)
	if !said.failed || c.text(of, "id") != "shop/web (unfinished)" {
		c.Fatalf("want it unfinished, have %s\n%s", c.text(of, "id"), said)
	}
	return of
}

// text is an attribute of a state.
func (c *client) text(of resourceState, name string) (text string) {
	c.Helper()
	var all map[string]tftypes.Value
	if of.state.IsNull() {
		return ""
	}
	if err := of.state.As(&all); err != nil {
		c.Fatal(err)
	}
	if err := all[name].As(&text); err != nil {
		c.Fatal(err)
	}
	return text
}

// addresses are those of the first machine.
func (c *client) addresses(of resourceState) (list []tftypes.Value) {
	c.Helper()
	found, _, err := tftypes.WalkAttributePath(of.state, tftypes.NewAttributePath().WithAttributeName("machines").WithElementKeyInt(0).WithAttributeName("addresses"))
	if err == nil {
		err = found.(tftypes.Value).As(&list)
	}
	if err != nil {
		c.Fatal(err)
	}
	return list
}

// deleted deletes a resource, by what a plan has handed on.
func (c *client) deleted(of resourceState, private []byte) {
	c.Helper()
	if said := c.toldOfDelete(of, private); said.failed {
		c.Fatal(said)
	}
}

// refusedToDelete tries to delete a resource, which fails.
func (c *client) refusedToDelete(of resourceState) said {
	c.Helper()
	out := c.toldOfDelete(of, of.private)
	if !out.failed {
		c.Error("it was deleted")
	}
	return out
}

func (c *client) toldOfDelete(of resourceState, private []byte) said {
	c.Helper()
	kind := c.types[of.kind]
	null := tftypes.NewValue(kind, nil)
	resp, err := c.server.ApplyResourceChange(c.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: of.kind, PriorState: packed(c, kind, of.state), PlannedState: packed(c, kind, null), PlannedPrivate: private, Config: packed(c, kind, null),
	})
	if err != nil {
		c.Fatal(err)
	}
	return told(resp.Diagnostics)
}

// destruction plans that a resource goes, and gives what that hands on.
func (c *client) destruction(of resourceState) []byte {
	c.Helper()
	kind := c.types[of.kind]
	null := packed(c, kind, tftypes.NewValue(kind, nil))
	resp, err := c.server.PlanResourceChange(c.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: of.kind, PriorState: packed(c, kind, of.state), PriorPrivate: of.private, ProposedNewState: null, Config: null,
	})
	if err != nil {
		c.Fatal(err)
	}
	if said := told(resp.Diagnostics); said.failed {
		c.Fatal(said)
	}
	return resp.PlannedPrivate
}

func TestAnUnfinishedMachine(t *testing.T) {
	const kind = "proxplane_virtual_machine"
	config := small("web")
	there := func(c *client) bool { return c.conf("web") != nil }
	begin := func(t *testing.T, block values) (*client, resourceState) {
		c := start(t)
		for k, v := range c.login() {
			if block[k] == nil {
				block[k] = v
			}
		}
		c.connect(block)
		of := c.unfinished(config)
		c.connect(block) // the next command
		of, said := c.read(of)
		if said.failed || !there(c) {
			t.Fatal(said)
		}
		return c, of
	}
	for name, block := range map[string]values{"": {}, "and what is there is refused": {"existing": "Refuse"}} {
		t.Run("goes on when Terraform makes it anew since it is tainted"+name, func(t *testing.T) {
			c, of := begin(t, block)
			s, said := c.planBeside(c.none(kind), config) // of what is tainted, the prior state is null
			if said.failed || !strings.Contains(said.text, "web isn't replaced") {
				t.Fatal(said)
			}
			uuid := c.conf("web")["smbios1"]
			c.connect(block)
			if c.deleted(of, s.private); !there(c) {
				t.Fatal("it was destroyed")
			}
			s, said = c.planBeside(c.none(kind), config) // as Terraform does once more, right before
			if said.failed || strings.Contains(said.text, "there already") {
				t.Error(said)
			}
			if of, said = c.apply(s); said.failed || c.text(of, "id") != "shop/web" || c.conf("web")["smbios1"] != uuid {
				t.Errorf("it is %v\n%s", of.state, said)
			}
		})
	}
	t.Run("is destroyed when nobody wants it", func(t *testing.T) {
		c, of := begin(t, values{})
		private := c.destruction(of)
		c.connect(c.login())
		if c.deleted(of, private); there(c) {
			t.Error("it is there")
		}
	})
	t.Run("that was untainted and failed again is destroyed, too", func(t *testing.T) {
		c, of := begin(t, values{})
		s, said := c.planBeside(of, config)
		if said.failed {
			t.Fatal(said)
		}
		fault, err := c.sim.AddFault(pvesim.Fault{Task: "qmstart", Error: "MAX 0 vcpus allowed per VM on this node"})
		if err != nil {
			t.Fatal(err)
		}
		c.connect(c.login())
		if of, said = c.apply(s); !said.failed {
			t.Fatal("it was made")
		}
		c.sim.RemoveFault(fault)
		private := c.destruction(of)
		c.connect(c.login())
		if c.deleted(of, private); there(c) {
			t.Error("it is there")
		}
	})
	t.Run("that was untainted is made anew when people ask for it", func(t *testing.T) {
		c, of := begin(t, values{})
		s, said := c.planBeside(of, config)
		if said.failed {
			t.Fatal(said)
		}
		anew := c.none(kind)
		anew.private = s.private // which Terraform hands on when it plans the replacement
		if s, said = c.planBeside(anew, config); said.failed {
			t.Fatal(said)
		}
		c.connect(c.login())
		if c.deleted(of, s.private); there(c) {
			t.Error("it is there")
		}
	})
	t.Run("that was untainted goes on, and has its addresses then", func(t *testing.T) {
		c, of := begin(t, values{})
		s, said := c.planBeside(of, config)
		if said.failed {
			t.Fatal(said)
		}
		c.connect(c.login())
		if of, said = c.apply(s); said.failed {
			t.Fatal(said)
		}
		if len(c.addresses(of)) == 0 {
			t.Errorf("it has no addresses: %v", of.state)
		}
	})
	t.Run("keeps to its set", func(t *testing.T) {
		c, of := begin(t, values{})
		block := c.login()
		block["set"] = "other"
		c.connect(block)
		if _, said := c.read(of); !said.failed || !strings.Contains(said.text, "The state has web of set shop") || strings.Contains(said.text, "unfinished") {
			t.Error(said)
		}
	})
}

// What was never begun isn't in the state.
func TestWhatWasNeverBegunIsNotInTheState(t *testing.T) {
	c := start(t)
	config := small("web")
	s, said := c.plan(c.none("proxplane_virtual_machine"), config)
	if said.failed {
		t.Fatal(said)
	}
	c.sim.Do(func(st *pvesim.State) { delete(st.VMs, sim.VM(st, "ubuntu-22-template").ID) })
	c.connect(c.login())
	of, said := c.apply(s)
	if !said.failed || !of.state.IsNull() {
		t.Errorf("it is %v\n%s", of.state, said)
	}
}

// A guest has another address since it was applied last. What the plan has shown is kept until the next look; where it has shown none, the
// address is known after the apply.
func TestAnAddressThatChangesBreaksNoApply(t *testing.T) {
	for name, was := range map[string][]tftypes.Value{"another one": {tftypes.NewValue(tftypes.String, "192.0.2.7")}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			config := small("web")
			of := c.made(config)
			var err error
			of.state, err = tftypes.Transform(of.state, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
				if strings.HasSuffix(at.String(), `AttributeName("addresses")`) {
					return tftypes.NewValue(v.Type(), was), nil
				}
				return v, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if s, said := c.plan(of, config); said.failed || c.changes(s) {
				t.Errorf("that makes no plan: %s", said)
			}
			config["tags"] = []any{"front"}
			s, said := c.plan(of, config)
			if said.failed {
				t.Fatal(said)
			}
			c.connect(c.login())
			if of, said = c.apply(s); said.failed || len(c.addresses(of)) != 1 {
				t.Errorf("it has %v\n%s", c.addresses(of), said)
			}
		})
	}
}

// A VMID that somebody takes after the plan was made is another one when it is applied: Terraform holds the provider to what it planned. The machine
// isn't destroyed for that.
func TestAVMIDIsTakenAfterThePlan(t *testing.T) {
	const kind = "proxplane_virtual_machine"
	c := start(t)
	s, said := c.plan(c.none(kind), small("web"))
	if said.failed {
		t.Fatal(said)
	}
	planned := c.plannedVMIDs(s)[0]
	if err := c.sim.Call(t.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": fmt.Sprint(planned), "name": "other", "memory": "512"}); err != nil {
		t.Fatal(err)
	}
	c.connect(c.login())
	of, said := c.apply(s)
	if !said.failed || !strings.Contains(said.text, "web has another VMID than planned") || c.text(of, "id") != "shop/web (unfinished)" {
		t.Fatalf("it is %v\n%s", of.state, said)
	}
	uuid := c.conf("web")["smbios1"]
	c.connect(c.login())
	if of, said = c.read(of); said.failed {
		t.Fatal(said)
	}
	if s, said = c.planBeside(c.none(kind), small("web")); said.failed || !strings.Contains(said.text, "web isn't replaced") { // of what is tainted, the prior state is null
		t.Fatal(said)
	}
	c.connect(c.login())
	if c.deleted(of, s.private); c.conf("web")["smbios1"] != uuid {
		t.Fatal("it was destroyed")
	}
	if of, said = c.apply(s); said.failed || c.text(of, "id") != "shop/web" || c.vmids(of.state)[0] == planned {
		t.Errorf("it is %v\n%s", of.state, said)
	}
	if c.conf("other") == nil {
		t.Error("the other machine is gone")
	}
}

// What another process begins to make after the plan doesn't say yet whose it is. What was known when planning is known still: else Terraform
// would call the provider defective.
func TestWhatWasPlannedIsKnownWhileAnotherProcessMakesIt(t *testing.T) {
	const kind = "proxplane_virtual_machine"
	c := start(t)
	config := small("web")
	config["networks"], config["placement"] = []any{values{"name": "lan"}}, values{"node_selector": []any{"pve1"}}
	s, said := c.plan(c.none(kind), config)
	if said.failed {
		t.Fatal(said)
	}
	planned := c.plannedMachine(s)
	if err := c.sim.Call(t.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": fmt.Sprint(c.plannedVMIDs(s)[0]), "name": "VM-copy", "memory": "512"}); err != nil {
		t.Fatal(err)
	}
	c.sim.Do(func(st *pvesim.State) { sim.VM(st, "VM-copy").Conf["lock"] = "clone" })
	c.connect(c.login())
	s, said = c.plan(c.none(kind), config)
	if now := c.plannedMachine(s); said.failed || now != planned {
		t.Errorf("it was planned as %s, and is planned as %s\n%s", planned, now, said)
	}
}

// plannedMachine is what a plan says of the first machine.
func (c *client) plannedMachine(s step) string {
	c.Helper()
	v, err := s.planned.Unmarshal(c.types[s.of.kind])
	if err != nil {
		c.Fatal(err)
	}
	var all map[string]tftypes.Value
	var list []tftypes.Value
	if err := errors.Join(v.As(&all), all["machines"].As(&list)); err != nil {
		c.Fatal(err)
	}
	return list[0].String()
}
