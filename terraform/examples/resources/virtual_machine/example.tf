resource "proxplane_virtual_machine" "web" {
  name      = "web"
  replicas  = 3 # web-1, web-2 and web-3, made at once
  class     = { cpus = 2, memory = "4Gi" }
  image     = { source = "ubuntu-22-template" }
  networks  = [{ name = "lan", vlan = 5 }]
  disks     = [{ name = "root", size = "20Gi" }, { name = "data", size = "10Gi" }]
  placement = { constraints = { max_vms_per_node = 20 } }
  tags      = ["shop"]
  on_boot   = true
  user_data = { cloud_init = { inline = provider::proxplane::cloud_config({ packages = ["nginx"] }) } }

  # What needs a restart is refused until it is allowed.
  update_policy = { restart = "Allow" }
}

output "web" {
  value = { for m in proxplane_virtual_machine.web.machines : m.name => m.addresses }
}
