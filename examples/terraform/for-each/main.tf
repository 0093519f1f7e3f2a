# Machines that differ, each a resource of its own. However many there are, they are planned together.
terraform {
  required_providers {
    proxplane = { source = "terraform.local/proxplane/proxplane" }
  }
}

provider "proxplane" {
  set = "shop-${terraform.workspace}"
  # PVE_ENDPOINT, and PVE_TOKEN_ID and PVE_TOKEN_SECRET, say where and who.
}

locals {
  machines = {
    web-a = { cpus = 2, memory = "2Gi", disk = "20Gi", tags = ["web"] }
    web-b = { cpus = 2, memory = "2Gi", disk = "20Gi", tags = ["web"] }
    db    = { cpus = 4, memory = "4Gi", disk = "40Gi", tags = ["db"] }
  }
}

resource "proxplane_image" "ubuntu" {
  name   = "ubuntu"
  source = "ubuntu-22-template"
}

resource "proxplane_virtual_machine" "shop" {
  for_each = local.machines
  name     = each.key
  class    = { cpus = each.value.cpus, memory = each.value.memory }
  image    = proxplane_image.ubuntu
  networks = [{ name = "lan" }]
  disks    = [{ name = "root", size = each.value.disk }]
  tags     = concat(["shop"], each.value.tags)
  labels   = { role = each.value.tags[0] }
  placement = { # no two of a role on one node
    anti_affinity = [{ key = "role", values = [each.value.tags[0]] }]
  }
}

# A snapshot of each machine, such as before an upgrade: tofu apply -var snapshot=before-upgrade
# Without the variable they are deleted again.
variable "snapshot" {
  type    = string
  default = null
}

resource "proxplane_snapshot" "shop" {
  for_each = var.snapshot == null ? {} : proxplane_virtual_machine.shop
  name     = var.snapshot
  vmid     = each.value.machines[0].vmid
}

output "addresses" {
  value = { for name, vm in proxplane_virtual_machine.shop : name => vm.machines[0].addresses }
}
