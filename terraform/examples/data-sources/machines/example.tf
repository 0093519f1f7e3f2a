data "proxplane_machines" "all" {}

output "running" {
  value = { for m in data.proxplane_machines.all.machines : m.vmid => m.name if m.state == "running" }
}
