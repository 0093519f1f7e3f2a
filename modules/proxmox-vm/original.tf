# Machines that terraform-proxmox-vm has made go on as they are. Each of its resources has a place here, so that a plan with
# original = true moves all of them, changes nothing in Proxmox but whose the machines are, and needs its providers no longer.
moved {
  from = proxmox_vm_qemu.proxmox_flatcar_vm
  to   = proxplane_virtual_machine.original
}

moved {
  from = proxmox_cloud_init_disk.ignition_cloud_init
  to   = proxplane_unmanaged.ignition_cloud_init
}

moved {
  from = null_resource.node_replace_trigger
  to   = proxplane_unmanaged.node_replace_trigger
}

# One resource for each machine, as there, since nothing can be moved into a resource that is several machines.
resource "proxplane_virtual_machine" "original" {
  count           = var.original ? var.vm_count : 0
  taken_over      = true
  deletion_policy = "Delete"
  name            = lower(local.machines[count.index].vm_name)
  guest_name      = local.machines[count.index].vm_name
  vmid            = local.machines[count.index].vm_id

  image        = local.image
  linked_clone = !var.full_clone
  placement    = local.placement
  pool         = var.pool
  class        = merge(local.class, { storage = null })

  networks = [for i, n in local.networks : merge(n, {
    mac = n.mac != null ? n.mac : format("00:%s:%s:%02x:%02x:%02x", substr(md5(var.name), 1, 2), substr(md5(var.name), 3, 2),
      floor((local.machines[count.index].vm_id * 32 + i) / 65536) % 256, floor((local.machines[count.index].vm_id * 32 + i) / 256) % 256, (local.machines[count.index].vm_id * 32 + i) % 256)
  })]
  disks = local.disks

  user_data   = local.user_data
  variables   = local.has_butane ? local.butane[count.index] : null
  filesystems = [for fs in local.filesystems : merge(fs, { via = fs.type == "virtiofs" ? "hook" : null })]
  hookscripts = var.hookscripts

  agent         = { enabled = var.agent }
  on_boot       = var.onboot
  startup       = local.startup_order
  tags          = var.tags
  description   = local.description
  extra_config  = local.extra_config
  update_policy = var.update_policy
}

# The ISO images stay: hookscripts of the original read them at each start.
resource "proxplane_unmanaged" "ignition_cloud_init" {
  count = var.original && local.has_butane ? var.vm_count : 0
}

resource "proxplane_unmanaged" "node_replace_trigger" {
  count = var.original ? var.vm_count : 0
}
