data "proxmox_virtual_environment_vms" "template" {
  filter {
    name   = "name"
    values = ["ubuntu-22-template"]
  }
  filter {
    name   = "template"
    values = [true]
  }
}

locals {
  template = data.proxmox_virtual_environment_vms.template.vms[0]
}

# A machine made from nothing: every kind of device, never booted at first.
resource "proxmox_virtual_environment_vm" "scratch" {
  node_name   = "pve1"
  vm_id       = 4001
  name        = "scratch"
  description = var.description
  tags        = var.tags
  pool_id     = proxmox_virtual_environment_pool.clients.pool_id

  # Nothing is on its disk that could answer a shutdown or reboot.
  started             = var.scratch_started
  stop_on_destroy     = true
  reboot_after_update = false

  on_boot         = false
  bios            = "ovmf"
  machine         = "q35"
  scsi_hardware   = "virtio-scsi-single"
  keyboard_layout = "de"
  tablet_device   = false
  boot_order      = ["scsi0", "ide0", "net0"]

  agent {
    enabled = false
  }

  cpu {
    cores   = var.cores
    sockets = 1
    type    = "x86-64-v2-AES"
    flags   = ["+aes"]
    units   = 512
    limit   = 2
  }

  memory {
    dedicated = var.memory
    floating  = 1024
  }

  efi_disk {
    datastore_id      = "local-lvm"
    type              = "4m"
    pre_enrolled_keys = true
  }

  tpm_state {
    datastore_id = "local-lvm"
    version      = "v2.0"
  }

  cdrom {
    file_id   = proxmox_virtual_environment_file.iso.id
    interface = "ide0"
  }

  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = var.disk_size
    iothread     = true
    discard      = "on"
    ssd          = true
    cache        = "writeback"
    serial       = "root-disk"
    speed {
      read  = 100
      write = 50
    }
  }

  dynamic "disk" {
    for_each = var.extra_disk ? [1] : []
    content {
      datastore_id = "local-lvm"
      interface    = "virtio1"
      size         = 5
      speed {
        read  = 100
        write = 50
      }
    }
  }

  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:00:01"
    vlan_id     = var.vlan
    firewall    = true
    rate_limit  = 12.5
  }

  network_device {
    bridge = "vmbr1"
    model  = "e1000"
  }

  initialization {
    datastore_id = "local-lvm"
    interface    = "ide2"

    dns {
      domain  = "example.com"
      servers = ["192.0.2.53", "192.0.2.54"]
    }

    ip_config {
      ipv4 {
        address = "192.0.2.10/24"
        gateway = "192.0.2.1"
      }
      ipv6 {
        address = "auto"
      }
    }

    ip_config {
      ipv4 {
        address = "dhcp"
      }
    }

    user_account {
      username = "ubuntu"
      password = "first & second = third"
      keys     = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPQ1bxyrPUVnAGJtsGWAN/hhyCZvOlPRzHZ4kp1yfSL alice+test@example.com"]
    }
  }

  operating_system {
    type = "l26"
  }

  serial_device {}

  smbios {
    manufacturer = "proxplane, tests"
    product      = "A = B"
    serial       = "42"
  }

  startup {
    order      = 3
    up_delay   = 60
    down_delay = 30
  }

  vga {
    type   = "virtio"
    memory = 32
  }

  watchdog {
    enabled = true
    model   = "i6300esb"
    action  = "reset"
  }
}

# A full clone of the template that the world begins with. Its guest agent
# answers, so its address comes back.
resource "proxmox_virtual_environment_vm" "clone" {
  node_name   = local.template.node_name
  name        = "clone"
  description = var.description
  tags        = var.tags

  clone {
    vm_id = local.template.vm_id
    full  = true
  }

  agent {
    enabled = true
    timeout = "2m"
  }

  cpu {
    cores = var.cores
    type  = "host"
  }

  memory {
    dedicated = var.memory
  }

  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = var.disk_size
  }

  network_device {
    bridge = "vmbr0"
  }

  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv4 {
        address = "192.0.2.20/24"
        gateway = "192.0.2.1"
      }
    }
    user_account {
      username = "ubuntu"
      keys     = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPQ1bxyrPUVnAGJtsGWAN/hhyCZvOlPRzHZ4kp1yfSL alice"]
    }
  }

  operating_system {
    type = "l26"
  }
}

# A template of one's own, and a linked clone of it, both with an API token.
resource "proxmox_virtual_environment_vm" "golden" {
  provider  = proxmox.token
  node_name = "pve2"
  name      = "golden"
  template  = true
  started   = false

  cpu {
    cores = 1
  }

  memory {
    dedicated = 512
  }

  disk {
    datastore_id = "nfs"
    interface    = "scsi0"
    size         = 3
    file_format  = "qcow2"
  }

  network_device {
    bridge = "vmbr2"
  }
}

resource "proxmox_virtual_environment_vm" "linked" {
  provider    = proxmox.token
  node_name   = var.linked_node
  migrate     = true
  name        = "linked"
  description = var.description
  started     = false

  clone {
    vm_id     = proxmox_virtual_environment_vm.golden.vm_id
    node_name = proxmox_virtual_environment_vm.golden.node_name
    full      = false
  }

  memory {
    dedicated = var.memory
  }

  network_device {
    bridge = "vmbr2"
  }
}

# A machine on storage that only its node has, whose disk changes storage.
resource "proxmox_virtual_environment_vm" "base" {
  node_name = "pve2"
  name      = "base"
  started   = false

  memory {
    dedicated = 512
  }

  disk {
    datastore_id = var.base_datastore
    interface    = "virtio0"
    size         = 4
  }
}

# Cloned on the node of its source and migrated from there, disks and all; later
# it moves to a third node while it runs.
resource "proxmox_virtual_environment_vm" "moved" {
  node_name       = var.moved_node
  name            = "moved"
  migrate         = true
  stop_on_destroy = true

  clone {
    vm_id        = proxmox_virtual_environment_vm.base.vm_id
    node_name    = proxmox_virtual_environment_vm.base.node_name
    datastore_id = "local-lvm"
  }

  memory {
    dedicated = 512
  }

  network_device {
    bridge = "vmbr1"
  }
}

# Made by a user who may use little more than a pool, a storage and the bridges.
resource "proxmox_virtual_environment_vm" "tenant" {
  provider        = proxmox.tenant
  node_name       = "pve1"
  name            = "tenant"
  description     = var.description
  pool_id         = "tenants"
  stop_on_destroy = true

  cpu {
    cores = var.cores
  }

  memory {
    dedicated = 512
  }

  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = 2
  }

  network_device {
    bridge = "vmbr0"
  }

  # It is running, and nothing in it answers a reboot.
  reboot_after_update = false
}

data "proxmox_virtual_environment_vms" "of_tenant" {
  provider   = proxmox.tenant
  depends_on = [proxmox_virtual_environment_vm.tenant, proxmox_virtual_environment_vm.clone, proxmox_virtual_environment_vm.scratch]
}

output "tenant_sees" {
  value = [for vm in data.proxmox_virtual_environment_vms.of_tenant.vms : vm.name]
}

output "tenant_id" {
  value = proxmox_virtual_environment_vm.tenant.vm_id
}

output "base_id" {
  value = proxmox_virtual_environment_vm.base.vm_id
}

output "moved_id" {
  value = proxmox_virtual_environment_vm.moved.vm_id
}

data "proxmox_virtual_environment_vms" "running" {
  tags = ["clients"]
  filter {
    name   = "status"
    values = ["running"]
  }
  depends_on = [proxmox_virtual_environment_vm.clone, proxmox_virtual_environment_vm.scratch]
}

data "proxmox_virtual_environment_vm" "scratch" {
  node_name = proxmox_virtual_environment_vm.scratch.node_name
  vm_id     = proxmox_virtual_environment_vm.scratch.vm_id
}

output "clone_id" {
  value = proxmox_virtual_environment_vm.clone.vm_id
}

output "clone_addresses" {
  value = flatten(proxmox_virtual_environment_vm.clone.ipv4_addresses)
}

output "clone_node" {
  value = proxmox_virtual_environment_vm.clone.node_name
}

output "golden_id" {
  value = proxmox_virtual_environment_vm.golden.vm_id
}

output "linked_id" {
  value = proxmox_virtual_environment_vm.linked.vm_id
}

output "running" {
  value = [for vm in data.proxmox_virtual_environment_vms.running.vms : vm.name]
}

# Its disk is imported by commands over SSH, and its user-data is a snippet.
resource "proxmox_virtual_environment_vm" "imported" {
  name      = "imported"
  node_name = "pve1"
  vm_id     = 4007
  started   = false
  disk {
    datastore_id = "local-lvm"
    file_id      = proxmox_virtual_environment_download_file.image.id
    file_format  = "raw"
    interface    = "virtio0"
    size         = 8
  }
  initialization {
    datastore_id      = "local-lvm"
    user_data_file_id = proxmox_virtual_environment_file.snippet.id
    ip_config {
      ipv4 {
        address = "dhcp"
      }
    }
  }
}
