package terraform_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
)

// byHand makes a machine as another provider does.
func (c *client) byHand(name string, vmid string, conf pve.Params) {
	c.Helper()
	for _, call := range []struct {
		method, path string
		params       pve.Params
	}{
		{"POST", "/nodes/pve1/qemu/" + vmid + "/config", conf},
		{"POST", "/nodes/pve1/qemu/" + vmid + "/status/start", nil},
	} {
		if err := c.sim.Call(c.Context(), call.method, call.path, call.params); err != nil {
			c.Fatal(name, err)
		}
	}
}

// A moved block takes a machine of Telmate's or bpg's provider over: nothing is done when planning, and applying it
// changes nothing but whose it is.
func TestMachinesOfOtherProvidersAreMovedHere(t *testing.T) {
	const telmate, bpg = "proxmox_vm_qemu", "proxmox_virtual_environment_vm"
	for name, its := range map[string]struct {
		from  string
		state values
	}{
		telmate: {telmate, values{"id": "pve1/qemu/8100", "vmid": 8100, "name": "Old-Web", "memory": 1024}},
		bpg:     {bpg, values{"id": "8100", "vm_id": 8100, "name": "Old-Web", "memory": []any{values{"dedicated": 1024}}}},
		// Telmate's provider writes the VMID into that attribute only where the configuration has it.
		telmate + " without a vmid": {telmate, values{"id": "pve1/qemu/8100", "vmid": nil, "name": "Old-Web"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			if err := c.sim.Call(c.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": 8100, "name": "Old-Web", "scsi0": "local:8", "ostype": "l26", "scsihw": "virtio-scsi-single", "description": "notes of somebody"}); err != nil {
				t.Fatal(err)
			}
			c.byHand("Old-Web", "8100", pve.Params{"memory": 1024, "cores": 1, "cpu": "host", "net0": "virtio=00:8F:12:00:7B:20,bridge=vmbr0", "tags": "old"})
			conf, was := c.conf("Old-Web"), c.life("Old-Web")
			of, said := c.moved("proxplane_virtual_machine", its.from, its.state)
			if said.failed {
				t.Fatal(said)
			}
			of, said = c.read(of)
			if said.failed {
				t.Fatal(said)
			}
			if now := c.conf("Old-Web"); !maps.Equal(now, conf) {
				t.Fatalf("it was %v and is %v", conf, now)
			}
			config := values{
				"name": "web", "guest_name": "Old-Web", "vmid": 8100, "taken_over": true, "image": values{"source": "ubuntu-22-template"}, "class": values{"cpus": 1, "memory": "1Gi", "spec": values{"cpu_type": "host"}},
				"agent": values{"enabled": false}, "tags": []any{"old"}, "user_data": values{"cloud_init": values{"inline": "#cloud-config\n"}}, "description": "notes of ours",
				"networks": []any{values{"name": "net0", "bridge": "vmbr0", "mac": "00:8F:12:00:7B:20"}},
			}
			s, said := c.plan(of, config)
			if said.failed || effectsIn(said.text) != "live" || !strings.Contains(said.text, "gets a marker in its notes, and two tags") {
				t.Fatal(said)
			}
			of, said = c.apply(s)
			if said.failed {
				t.Fatal(said)
			}
			if of, said = c.read(of); said.failed {
				t.Fatal(said)
			}
			if s, said = c.plan(of, config); said.failed || c.changes(s) {
				t.Errorf("a second plan isn't empty: %s", said)
			}
			now := c.conf("Old-Web")
			for key, value := range conf {
				if key != "description" && key != "tags" && key != "digest" && now[key] != value {
					t.Errorf("%s was %q and is %q", key, value, now[key])
				}
			}
			if !strings.Contains(now["description"], "notes of somebody") || strings.Contains(now["description"], "notes of ours") || c.life("Old-Web") != was {
				t.Errorf("it is %v", now)
			}
		})
	}
}

// What the other provider's state names is another machine by now, or none.
func TestOnlyTheMachineThatIsMeantIsMovedHere(t *testing.T) {
	c := start(t)
	of, said := c.moved("proxplane_virtual_machine", "proxmox_vm_qemu", values{"id": "pve1/qemu/8100", "vmid": 8100, "name": "web"})
	if said.failed {
		t.Fatal(said)
	}
	if gone, said := c.read(of); said.failed || !gone.state.IsNull() {
		t.Errorf("it is there: %v, %s", gone.state, said)
	}
	if err := c.sim.Call(c.Context(), "POST", "/nodes/pve1/qemu", pve.Params{"vmid": 8100, "name": "another", "scsi0": "local:8"}); err != nil {
		t.Fatal(err)
	}
	c.connect(c.login())
	if _, said := c.read(of); !said.failed || !strings.Contains(said.text, "in Proxmox it is called otherwise") {
		t.Errorf("it says %q", said)
	}
	for id, want := range map[string]string{"pve1/qemu/900": "VM 900 is a template", "pve1/qemu/950": "950 is a container"} {
		if of, said = c.moved("proxplane_virtual_machine", "proxmox_vm_qemu", values{"id": id, "name": "other"}); said.failed {
			t.Fatal(said)
		}
		if _, said := c.read(of); !said.failed || !strings.Contains(said.text, want) {
			t.Errorf("%s: it says %q", id, said)
		}
	}
	if _, said := c.moved("proxplane_virtual_machine", "proxmox_vm_qemu", values{"id": "web", "name": "web"}); !said.failed || !strings.Contains(said.text, "names no VM") {
		t.Errorf("it says %q", said)
	}
	if _, said := c.moved("proxplane_virtual_machine", "aws_instance", values{"id": "i-1"}); !said.failed {
		t.Error("anything can be moved")
	}
	if _, said := c.moved("proxplane_unmanaged", "null_resource", values{"id": "1"}); said.failed {
		t.Error(said)
	}
}
