resource "proxmox_virtual_environment_pool" "clients" {
  pool_id = "clients"
  comment = "pool ${var.cores}"
}

# Proxmox VE 9 has rules instead of groups, which this provider doesn't know.
resource "proxmox_virtual_environment_hagroup" "pair" {
  count       = var.ha_groups ? 1 : 0
  group       = "pair"
  comment     = "pair ${var.cores}"
  nodes       = { pve1 = null, pve2 = var.cores }
  restricted  = true
  no_failback = false
}

resource "proxmox_virtual_environment_haresource" "clone" {
  resource_id  = "vm:${proxmox_virtual_environment_vm.clone.vm_id}"
  state        = "ignored"
  group        = one(proxmox_virtual_environment_hagroup.pair[*].group)
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
}

resource "proxmox_virtual_environment_firewall_options" "clone" {
  node_name     = proxmox_virtual_environment_vm.clone.node_name
  vm_id         = proxmox_virtual_environment_vm.clone.vm_id
  enabled       = true
  dhcp          = true
  ipfilter      = true
  log_level_in  = "info"
  input_policy  = "DROP"
  output_policy = "ACCEPT"
  macfilter     = var.cores > 2
}

resource "proxmox_virtual_environment_firewall_rules" "clone" {
  node_name  = proxmox_virtual_environment_vm.clone.node_name
  vm_id      = proxmox_virtual_environment_vm.clone.vm_id
  depends_on = [proxmox_virtual_environment_firewall_options.clone]

  rule {
    security_group = proxmox_virtual_environment_cluster_firewall_security_group.web.name
    comment        = "from the group"
    iface          = "net0"
  }

  rule {
    type    = "in"
    action  = "ACCEPT"
    comment = "SSH for ${var.cores}"
    dport   = "22"
    proto   = "tcp"
    log     = "info"
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
