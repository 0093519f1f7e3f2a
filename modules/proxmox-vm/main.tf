locals {
  # What templates know of each machine.
  machines = [for i in range(var.vm_count) : {
    vm_id    = var.vmid + i
    vm_name  = var.vm_count > 1 ? "${var.name}-${i + 1}" : var.name
    vm_count = var.vm_count
    vm_index = i
  }]

  has_butane = var.butane_conf != null && var.butane_conf != ""
  butane_dir = var.butane_path != null ? var.butane_path : (local.has_butane ? dirname(var.butane_conf) : null)

  # The configs of each machine, by the names that the resource below has them by.
  butane = local.has_butane ? [for m in local.machines : merge(
    { butane = templatefile(var.butane_conf, m) },
    { for j, name in var.butane_conf_snippets : "snippet_${j}" => templatefile("${local.butane_dir}/${name}", m) },
  )] : []

  startup = { for part in split(",", var.startup) :
    (strcontains(part, "=") ? trimspace(split("=", part)[0]) : "order") => try(tonumber(reverse(split("=", part))[0]), null)
  }

  # What all machines have in common.
  image     = { source = var.template_name, os = { type = var.os_type } }
  placement = { node_selector = [var.target_node] }
  class = {
    cpus   = var.cores
    memory = "${var.memory}Mi"
    spec = {
      cpu_type        = var.cpu
      bios            = var.bios == "ovmf" ? "uefi" : var.bios
      scsi_controller = "virtio-scsi-single"
      serial          = true
    }
    storage = var.storage == null ? null : { class = var.storage }
  }

  networks = [for i, n in var.networks : {
    name   = "net${i}"
    bridge = n.bridge
    vlan   = try(n.tag > 0, false) ? n.tag : null
    mtu    = n.mtu
    mac    = n.macaddr == "" ? null : n.macaddr
  }]

  disks = length(var.disks) == 0 ? null : [for d in var.disks : {
    name      = d.slot == var.root_disk_slot ? "root" : d.slot
    slot      = d.slot == var.root_disk_slot ? null : d.slot
    size      = d.size == null ? null : "${d.size}i"
    storage   = d.storage
    type      = d.format == null ? null : d.format == "raw" ? "thick" : "thin"
    backup    = d.backup
    cache     = d.cache
    discard   = d.discard
    ssd       = d.emulatessd
    io_thread = d.iothread
  }]

  user_data = !local.has_butane ? null : {
    delivery    = var.butane_delivery
    fw_cfg_name = var.butane_delivery == "fwcfg" ? var.fw_cfg_name : null
    butane = {
      inline   = "$${butane}"
      snippets = [for j, name in var.butane_conf_snippets : { inline = "$${snippet_${j}}" }]
      files    = { folder = local.butane_dir }
    }
  }

  filesystems = concat(
    [for fs in var.virtiofs : {
      type           = "virtiofs"
      source         = fs.dirid
      tag            = fs.tag
      via            = var.virtiofs_via
      cache          = fs.cache
      direct_io      = fs.direct-io == null ? null : contains(["always", "true", "1"], fs.direct-io)
      read_only      = null
      security_model = null
      multidevs      = null
    }],
    [for fs in var.plan9fs : {
      type           = "9p"
      source         = fs.dirid
      tag            = fs.tag
      via            = null
      cache          = null
      direct_io      = null
      read_only      = fs.readonly
      security_model = fs.security_model == "mapped" ? "mapped-xattr" : fs.security_model
      multidevs      = fs.multidevs
    }],
  )

  startup_order = { order = lookup(local.startup, "order", null), up_delay = lookup(local.startup, "up", null), down_delay = lookup(local.startup, "down", null) }
  description   = var.description == null ? null : trimspace(var.description)
  extra_config  = var.boot == null ? null : { boot = var.boot }
}

# All machines are one resource: they are planned together and made at once, however many Terraform works on at a time.
resource "proxplane_virtual_machine" "vm" {
  count      = var.vm_count > 0 && !var.original ? 1 : 0
  name       = lower(var.name)
  guest_name = var.name
  vmid       = var.vmid
  replicas   = var.vm_count > 1 ? var.vm_count : null

  image        = local.image
  linked_clone = !var.full_clone
  placement    = local.placement
  pool         = var.pool

  class    = local.class
  networks = local.networks
  disks    = local.disks

  user_data        = local.user_data
  variables        = local.has_butane && var.vm_count <= 1 ? one(local.butane) : null
  member_variables = local.has_butane && var.vm_count > 1 ? local.butane : null

  filesystems = local.filesystems
  hookscripts = var.hookscripts

  agent        = { enabled = var.agent }
  on_boot      = var.onboot
  startup      = local.startup_order
  tags         = var.tags
  description  = local.description
  extra_config = local.extra_config

  update_policy = var.update_policy
}
