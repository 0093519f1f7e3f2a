package terraform_test

import (
	"slices"
	"strings"
	"testing"
)

// pair are two machines that are never on one node, and a copy of the first one beside them.
const pair = `
resource "proxplane_placement" "apart" {
  anti_affinity = [{ key = "app", values = ["web"] }]
}
resource "proxplane_virtual_machine" "web" {
  for_each  = toset(["a", "b"])
  name      = "web-${each.key}"
  class     = { cpus = 1, memory = "1Gi" }
  image     = { source = "ubuntu-22-template" }
  labels    = { app = "web" }
  placement = proxplane_placement.apart
}
resource "proxplane_clone" "copy" {
  name   = "copy"
  source = proxplane_virtual_machine.web["a"].machines[0].vmid
  tags   = ["copy"]
}
output "nodes" {
  value = [for w in proxplane_virtual_machine.web : w.machines[0].node]
}
`

func TestClonesAndPlacements(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.config(pair)
	b.apply()
	b.settled()
	var nodes []string
	if b.output("nodes", &nodes); len(nodes) != 2 || nodes[0] == nodes[1] {
		t.Errorf("the machines are on %v", nodes)
	}
	if names := strings.Fields(b.machines()); !slices.Equal(names, []string{"copy", "web-a", "web-b"}) {
		t.Errorf("there is %v", names)
	}
	b.config(strings.ReplaceAll(pair, `["copy"]`, `["copy", "old"]`))
	if out := b.apply(); strings.Contains(out, "restart") || !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
		t.Errorf("a tag did more than it should:\n%s", out)
	}
	b.settled()

	// A copy stands alone.
	b.config(strings.ReplaceAll(strings.ReplaceAll(pair, `["a", "b"]`, `["b"]`), `proxplane_virtual_machine.web["a"].machines[0].vmid`, `"ubuntu-22-template"`))
	b.apply()
	b.settled()
	if names := strings.Fields(b.machines()); !slices.Equal(names, []string{"copy", "web-b"}) {
		t.Errorf("there is %v", names)
	}
	b.config(strings.ReplaceAll(pair, `values = ["web"]`, `operator = "Near"`))
	b.says(b.refused(), "isn't right")
	b.config(pair)
	b.destroy()
	b.nothingLeft(before)
}
