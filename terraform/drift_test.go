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
