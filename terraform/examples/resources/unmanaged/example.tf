# Of a configuration that another provider has made things from, a file that is to stay in Proxmox.
moved {
  from = proxmox_virtual_environment_file.cloud_config
  to   = proxplane_unmanaged.cloud_config
}

resource "proxplane_unmanaged" "cloud_config" {}
