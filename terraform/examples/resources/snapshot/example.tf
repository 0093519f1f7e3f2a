resource "proxplane_virtual_machine" "db" {
  name  = "db"
  class = { cpus = 2, memory = "4Gi" }
  image = { source = "ubuntu-22-template" }
}

resource "proxplane_snapshot" "before" {
  name        = "before-upgrade"
  description = "before the upgrade to 18"
  vmid        = proxplane_virtual_machine.db.machines[0].vmid
}
