package terraform_test

import (
	"slices"
	"testing"
)

func TestDataSourcesListWhatThereIs(t *testing.T) {
	b := begin(t)
	b.config(`
data "proxplane_nodes" "all" {}
data "proxplane_storages" "all" {}
data "proxplane_templates" "all" {}
resource "proxplane_virtual_machine" "web" {
  name  = "web"
  class = { cpus = 1, memory = "1Gi" }
  image = { source = [for t in data.proxplane_templates.all.templates : t.name if startswith(t.name, "ubuntu")][0] }
}
data "proxplane_machines" "all" {
  depends_on = [proxplane_virtual_machine.web]
}
output "found" {
  value = {
    nodes    = data.proxplane_nodes.all.nodes[*].name
    storages = [for s in data.proxplane_storages.all.storages : s.name if contains(s.content, "images")]
    machines = data.proxplane_machines.all.machines[*].name
  }
}
`)
	b.apply()
	var found struct{ Nodes, Storages, Machines []string }
	b.output("found", &found)
	if !slices.Equal(found.Nodes, []string{"pve1", "pve2", "pve3"}) || !slices.Contains(found.Storages, "local-lvm") || !slices.Equal(found.Machines, []string{"web"}) {
		t.Errorf("found %+v", found)
	}
	b.settled()
}
