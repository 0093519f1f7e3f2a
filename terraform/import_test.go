package terraform_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/pve"
)

// handmade is the configuration of a VM that was made by hand.
var handmade = values{
	"name": "handmade", "vmid": 777, "class": values{"cpus": 2, "memory": "1Gi"}, "disks": []any{values{"name": "root", "size": "8Gi", "storage": "local-lvm"}},
	"power_state": "Off", "deletion_policy": "Retain",
}

// The cluster's list has neither the name nor the power state of a VM that somebody made a moment ago. Nodes have both.
func TestAVMThatWasJustMadeIsImported(t *testing.T) {
	for _, id := range []string{"handmade", "777"} {
		t.Run(id, func(t *testing.T) {
			c := start(t)
			if err := c.sim.Call(c.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": 777, "name": "handmade", "memory": 1024, "cores": 2, "ostype": "l26", "scsi0": "local-lvm:8"}); err != nil {
				t.Fatal(err)
			}
			of, said := c.imported("proxplane_virtual_machine", id)
			if said.failed {
				t.Fatal(said)
			}
			if of, said = c.read(of); said.failed {
				t.Fatal(said)
			}
			s, said := c.plan(of, handmade)
			if said.failed || !strings.Contains(said.text, "gets a marker in its notes") {
				t.Fatal(said)
			}
			if of, said = c.apply(s); said.failed {
				t.Fatal(said)
			}
			if state := c.stateOf(of); state != "stopped" {
				t.Errorf("it is %s", state)
			}
			if of, said = c.read(of); said.failed {
				t.Fatal(said)
			}
			if s, said = c.plan(of, handmade); said.failed || c.changes(s) {
				t.Errorf("a second plan isn't empty: %s", said)
			}
		})
	}
}

// Of two VMs with one name, one of which was just made, none is taken by chance.
func TestANameThatTwoVMsHaveIsRefused(t *testing.T) {
	c := start(t)
	for _, id := range []int{777, 778} {
		if err := c.sim.Call(c.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": id, "name": "twin"}); err != nil {
			t.Fatal(err)
		}
		if id == 777 {
			c.sim.Advance(20e9) // the cluster's list has the first one
		}
	}
	if _, said := c.imported("proxplane_virtual_machine", "twin"); !said.failed || !strings.Contains(said.text, "777 on pve1, 778 on pve1") {
		t.Error(said)
	}
}

// stateOf is the power state of a resource's first machine.
func (c *client) stateOf(of resourceState) (state string) {
	c.Helper()
	v, _, err := tftypes.WalkAttributePath(of.state, tftypes.NewAttributePath().WithAttributeName("machines").WithElementKeyInt(0).WithAttributeName("state"))
	if err == nil {
		err = v.(tftypes.Value).As(&state)
	}
	if err != nil {
		c.Fatal(err)
	}
	return state
}

// One VM can't be two resources.
func TestAVMIsImportedForOneResource(t *testing.T) {
	c := start(t)
	if err := c.sim.Call(c.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": 777, "name": "handmade", "memory": 1024, "cores": 2, "ostype": "l26", "scsi0": "local-lvm:8"}); err != nil {
		t.Fatal(err)
	}
	plan := func(name string) said {
		of, out := c.imported("proxplane_virtual_machine", "777")
		if out.failed {
			t.Fatal(out)
		}
		config := maps.Clone(handmade)
		config["name"] = name
		_, out = c.planBeside(of, config)
		return out
	}
	if out := plan("one"); out.failed {
		t.Fatal(out)
	}
	if out := plan("two"); !out.failed || !strings.Contains(out.text, "Two resources are VM 777: It is imported for one and for two") {
		t.Errorf("it says %s", out)
	}
}
