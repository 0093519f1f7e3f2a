# A small Kubernetes: the first machine is the server of k3s, the others are its agents. All are made at once, from one
# template that tells them apart.
module "k3s" {
  source = "../../../modules/proxmox-vm"

  vmid            = 8100
  name            = "k3s"
  vm_count        = var.machines
  tags            = ["k3s", "terraform"]
  pm_api_url      = var.pm_api_url
  pm_user         = var.pm_user
  pm_password     = var.pm_password
  target_node     = var.target_node
  template_name   = "flatcar-production-proxmoxve-stable-3975.2.0"
  full_clone      = false
  butane_conf     = "${path.module}/k3s.bu.tftpl"
  butane_delivery = "iso" # images of the platform proxmoxve read it: no root, no hook
  cores           = 2
  memory          = 4096
  networks        = [{ bridge = var.bridge, tag = var.network_tag }]
  disks = [
    { slot = "scsi0", size = "20G" },
    { slot = "scsi1", storage = "local-lvm", size = "10G", discard = true, emulatessd = true }, # what pods keep
  ]
  virtiofs = [{ dirid = "/srv/data", tag = "data" }]
}

variable "machines" {
  type    = number
  default = 3
}

output "machines" {
  value = module.k3s.machines
}

output "ignition" {
  value = module.k3s.ignition
}
