package terraform_test

import (
	"strings"
	"testing"
)

func TestFunctionsSayWhatMachinesGet(t *testing.T) {
	b := begin(t)
	b.write("base.bu", "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/id\n      contents: {inline: \"$${vm_name} of $${vm_count}\"}\n")
	b.config(`
locals {
  macs = [for i in range(2) : provider::proxplane::mac("shop", "web-${i + 1}", "lan")]
}
resource "proxplane_virtual_machine" "web" {
  name      = "web"
  replicas  = 2
  class     = { cpus = 1, memory = "1Gi" }
  image     = { source = "ubuntu-22-template" }
  networks  = [{ name = "lan", bridge = "vmbr0" }]
  user_data = { cloud_init = { inline = provider::proxplane::cloud_config({ packages = ["nginx"], swap = null }, "#cloud-config\npackages: [git]\n") } }
}
output "web" {
  value = proxplane_virtual_machine.web.machines
}
output "macs" {
  value = local.macs
}
output "ignition" {
  value = [for i in range(2) : provider::proxplane::butane(templatefile("base.bu", {}), { variables = { vm_name = "web-${i + 1}", vm_count = 2 } })]
}
`)
	b.apply()
	b.settled()
	var web []machine
	var macs, ignition []string
	b.output("web", &web)
	b.output("macs", &macs)
	b.output("ignition", &ignition)
	for i := range 2 {
		if len(web[i].MACs) != 1 || web[i].MACs[0] != macs[i] {
			t.Errorf("%s has %v, and mac() says %s", web[i].Name, web[i].MACs, macs[i])
		}
		if !strings.Contains(ignition[i], web[i].Name+"%20of%202") {
			t.Errorf("the Ignition config of %s is %s", web[i].Name, ignition[i])
		}
	}
	b.config(`
output "wrong" {
  value = provider::proxplane::cloud_config("#!/bin/sh")
}
`)
	b.says(b.refused(), "this is no cloud-config: it doesn't begin with #cloud-config")
}
