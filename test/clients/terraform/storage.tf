resource "proxmox_virtual_environment_file" "iso" {
  node_name    = "pve1"
  datastore_id = "local"
  content_type = "iso"

  source_file {
    path      = var.iso_path
    file_name = "uploaded.iso"
  }
}

resource "proxmox_virtual_environment_download_file" "image" {
  node_name          = "pve1"
  datastore_id       = "local"
  content_type       = "iso"
  url                = var.download_url
  file_name          = "downloaded.img"
  checksum           = var.download_sha256
  checksum_algorithm = "sha256"
}

# Arrives over SSH: Proxmox has no API for snippets.
resource "proxmox_virtual_environment_file" "snippet" {
  node_name    = "pve1"
  datastore_id = "local"
  content_type = "snippets"
  source_raw {
    file_name = "clients.yaml"
    data      = "#cloud-config\nhostname: imported\n"
  }
}

data "proxmox_virtual_environment_datastores" "pve1" {
  node_name = "pve1"
}

output "datastores" {
  value = [for d in data.proxmox_virtual_environment_datastores.pve1.datastores : d.id]
}
