# A Flatcar machine with a Butane config, a snippet and local files.
module "flatcar" {
  source = "../../../modules/proxmox-vm"

  vmid          = 990
  name          = "flatcar-terraform.example.com"
  description   = "An example **Flatcar** machine, made with Terraform."
  startup       = "order=999"
  tags          = ["flatcar", "terraform", "example"]
  pm_api_url    = var.pm_api_url
  pm_user       = var.pm_user
  pm_password   = var.pm_password
  target_node   = var.target_node
  template_name = "flatcar-production-qemu-stable-3975.2.0"

  butane_conf          = "${path.module}/flatcar.bu.tftpl"
  butane_path          = "${path.module}/butane.d"
  butane_conf_snippets = ["users.bu.tftpl"]

  memory   = 1024
  networks = [{ bridge = var.bridge, tag = var.network_tag }]
  disks    = [{ slot = "scsi0", storage = "local", size = "8704M" }] # that of the template
}

output "machines" {
  value = module.flatcar.machines
}
