resource "proxmox_virtual_environment_pool" "clients" {
  pool_id = "clients"
  comment = "pool ${var.cores}"
}

resource "proxmox_virtual_environment_haresource" "clone" {
  resource_id  = "vm:${proxmox_virtual_environment_vm.clone.vm_id}"
  state        = "ignored"
  comment      = "HA ${var.cores}"
  max_restart  = 2
  max_relocate = 3
}

resource "proxmox_virtual_environment_cluster_firewall_security_group" "web" {
  name    = "web"
  comment = "web servers"

  rule {
    type    = "in"
    action  = "ACCEPT"
    comment = "HTTP"
    dport   = "80"
    proto   = "tcp"
    log     = "info"
  }

  dynamic "rule" {
    for_each = var.extra_disk ? [1] : []
    content {
      type    = "in"
      action  = "ACCEPT"
      comment = "HTTPS"
      dport   = "443"
      proto   = "tcp"
      log     = "nolog"
    }
  }
}

resource "proxmox_virtual_environment_cluster_options" "options" {
  keyboard                = "de"
  bandwidth_limit_default = var.cores * 100000
  max_workers             = var.cores
  migration_type          = "insecure"
  migration_cidr          = "10.0.0.0/8"
}

data "proxmox_virtual_environment_version" "this" {}

data "proxmox_virtual_environment_nodes" "all" {}

data "proxmox_virtual_environment_node" "first" {
  node_name = data.proxmox_virtual_environment_nodes.all.names[0]
}

data "proxmox_virtual_environment_haresources" "vms" {
  type       = "vm"
  depends_on = [proxmox_virtual_environment_haresource.clone]
}

output "nodes" {
  value = data.proxmox_virtual_environment_nodes.all.names
}

output "release" {
  value = data.proxmox_virtual_environment_version.this.release
}

output "node_memory" {
  value = data.proxmox_virtual_environment_node.first.memory_total
}

output "ha_resources" {
  value = data.proxmox_virtual_environment_haresources.vms.resource_ids
}
