package terraform_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// What a configuration ignores stays as it was made, also when something else is applied.
func TestWhatIsIgnoredIsNotApplied(t *testing.T) {
	b := begin(t)
	const ignores = `
variable "password" {
  type      = string
  ephemeral = true
  default   = "first"
}
resource "proxplane_virtual_machine" "web" {
  name      = "web"
  class     = { cpus = 1, memory = "1Gi" }
  image     = { source = "ubuntu-22-template" }
  tags      = TAGS
  on_boot   = BOOT
  networks  = NETWORKS
  user_data = { cloud_init = { inline_wo = "#cloud-config\npassword: ${var.password}\n" } }
  lifecycle {
    ignore_changes = [tags, networks]
  }
}
`
	config := func(tags, boot, networks string) {
		t.Helper()
		b.config(strings.NewReplacer("TAGS", tags, "BOOT", boot, "NETWORKS", networks).Replace(ignores))
	}
	config(`["first"]`, "false", `[{ name = "lan", vlan = 5 }]`)
	b.apply()
	b.settled()

	// A change of nothing but what is ignored is no change.
	config(`["second"]`, "false", `[{ name = "lan", vlan = 6 }, { name = "more" }]`)
	b.settled()
	// Neither does a change of something else bring it along, and the secret is still the same.
	config(`["second"]`, "true", `[{ name = "lan", vlan = 6 }, { name = "more" }]`)
	out := b.apply()
	if strings.Contains(out, "second") || strings.Contains(out, "anew") {
		t.Errorf("more was applied than planned:\n%s", out)
	}
	b.settled()
	b.conf("web", map[string]string{"tags": "first", "onboot": "1", "net0": "tag=5"})
	b.server.Do(func(st *pvesim.State) {
		if conf := sim.VM(st, "web").Conf; strings.Contains(conf["tags"], "second") || conf["net1"] != "" {
			t.Errorf("what is ignored was applied: %v", conf)
		}
	})
	b.boots("web", "password: first")
}
