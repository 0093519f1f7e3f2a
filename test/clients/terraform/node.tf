resource "proxmox_virtual_environment_network_linux_bridge" "lab" {
  node_name  = "pve1"
  name       = "vmbr99"
  address    = "198.51.100.1/24"
  comment    = "bridge ${var.cores}"
  vlan_aware = true
}

resource "proxmox_virtual_environment_dns" "pve1" {
  node_name = "pve1"
  domain    = "example.com"
  servers   = ["192.0.2.53", "192.0.2.${var.cores}"]
}

resource "proxmox_virtual_environment_hosts" "pve1" {
  node_name = "pve1"

  entry {
    address   = "127.0.0.1"
    hostnames = ["localhost.localdomain", "localhost"]
  }

  entry {
    address   = "192.0.2.${var.cores}"
    hostnames = ["pve1.example.com", "pve1"]
  }
}

data "proxmox_virtual_environment_time" "pve1" {
  node_name = "pve1"
}

output "time_zone" {
  value = data.proxmox_virtual_environment_time.pve1.time_zone
}
