resource "proxplane_virtual_machine" "db" {
  name  = "db"
  class = { cpus = 2, memory = "4Gi" }
  image = { source = "ubuntu-22-template" }
}

# A copy of it as it is now. Once made, it stands alone.
resource "proxplane_clone" "test" {
  name   = "db-test"
  source = proxplane_virtual_machine.db.machines[0].vmid
}
