package terraform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/pve"
)

// drift is what a state says about changes by hand.
func (c *client) drift(of resourceState) string {
	c.Helper()
	var all map[string]tftypes.Value
	if err := of.state.As(&all); err != nil {
		c.Fatal(err)
	}
	return fmt.Sprint(all["drift"])
}

// What somebody has changed is named, also where the state doesn't know what the machine got at its first boot; and
// what isn't in a state that was lost is said to be there.
func TestDriftOfAMachineWithASecret(t *testing.T) {
	for format, text := range map[string]string{
		"cloud_init": "#cloud-config\npassword: hunter2\n", "ignition": `{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"/etc/hunter2"}]}}`,
		"butane": "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/hunter2\n",
	} {
		t.Run(format, func(t *testing.T) { driftOfAMachineWithASecret(t, format, text) })
	}
}

func driftOfAMachineWithASecret(t *testing.T, format, text string) {
	c := start(t)
	const kind = "proxplane_virtual_machine"
	config := values{
		"name": "web", "class": values{"cpus": 1, "memory": "512Mi"}, "image": values{"source": "ubuntu-22-template"}, "networks": []any{values{"name": "lan", "bridge": "vmbr0"}},
		"user_data": values{format: values{"inline_wo": text}},
	}
	planned, out := c.plan(c.none(kind), config)
	if out.failed || strings.Contains(out.text, "there already") {
		t.Fatal(out)
	}
	now, out := c.apply(planned)
	if out.failed {
		t.Fatal(out)
	}
	if now, out = c.read(now); out.failed || strings.Contains(c.drift(now), "web") {
		t.Fatalf("nobody has changed anything, and drift is %s %s", c.drift(now), out)
	}
	if err := c.sim.Touch(t.Context(), "web", "PUT", "/config", pve.Params{"onboot": "1", "net0": "virtio,bridge=vmbr1"}); err != nil {
		t.Fatal(err)
	}
	c.connect(c.login()) // another process, which has seen nothing yet
	if now, out = c.read(now); out.failed || !strings.Contains(c.drift(now), "bridge vmbr1 → vmbr0") {
		t.Errorf("nothing says what was changed: %s %s", c.drift(now), out)
	}
	if strings.Contains(c.drift(now), "hunter2") {
		t.Error("drift has the secret")
	}
	if _, out = c.plan(c.none(kind), config); out.failed || !strings.Contains(out.text, "WARNING: Machines are there already: The state doesn't have web (VM ") {
		t.Errorf("nothing says that the machine is there: %s", out)
	}
}

// Somebody has written other notes over those with the proof whose a machine is. The way back is one of Terraform.
func TestALostProofIsPutBackByAnImport(t *testing.T) {
	c := start(t)
	of := c.made(small("web"))
	if err := c.sim.Touch(t.Context(), "web", "PUT", "/config", pve.Params{"description": "notes of people"}); err != nil {
		t.Fatal(err)
	}
	c.connect(c.login())
	id := c.vmids(of.state)[0]
	_, said := c.plan(of, small("web"))
	if want := fmt.Sprintf("say vmid = %d, take the resource out of the state (tofu state rm ADDRESS), and add an import block with id = \"%d\"", id, id); !said.failed || !strings.Contains(said.text, want) || strings.Contains(said.text, "proxplane import") {
		t.Fatalf("want %q, have %s", want, said)
	}
	config := small("web")
	config["vmid"] = id
	if of, said = c.imported("proxplane_virtual_machine", fmt.Sprint(id)); said.failed {
		t.Fatal(said)
	}
	if of, said = c.read(of); said.failed {
		t.Fatal(said)
	}
	s, said := c.plan(of, config)
	if said.failed {
		t.Fatal(said)
	}
	if of, said = c.apply(s); said.failed {
		t.Fatal(said)
	}
	if of, said = c.read(of); said.failed {
		t.Fatal(said)
	}
	if s, said = c.plan(of, config); said.failed || c.changes(s) {
		t.Errorf("a second plan isn't empty: %s", said)
	}
}
