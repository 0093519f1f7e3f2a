# A Flatcar machine that mounts a directory of its node by 9p.
module "flatcar_plan9fs" {
  source = "../../../modules/proxmox-vm"

  vmid          = 991
  name          = "flatcar-plan9fs.example.com"
  description   = "An example **Flatcar** machine that mounts a directory of its node."
  tags          = ["flatcar", "terraform", "plan9fs", "example"]
  pm_api_url    = var.pm_api_url
  pm_user       = var.pm_user
  pm_password   = var.pm_password
  target_node   = var.target_node
  template_name = "flatcar-production-qemu-stable-3975.2.0"

  butane_conf = "${path.module}/flatcar.bu.tftpl"
  butane_path = "${path.module}/butane.d"

  memory   = 1024
  networks = [{ bridge = var.bridge, tag = var.network_tag }]
  plan9fs  = [{ dirid = "/srv/data", tag = "data" }]
}

output "machines" {
  value = module.flatcar_plan9fs.machines
}
