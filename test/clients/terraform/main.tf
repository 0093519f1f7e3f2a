# What a user of the public bpg/proxmox provider might write, resource by
# resource. The test applies it, changes it (changed.tfvars), destroys it.

terraform {
  required_providers {
    proxmox = {
      source  = "mirror.test/bpg/proxmox" # with its public name, init would go to the network
      version = "0.75.0"
    }
  }
}

# By password: PROXMOX_VE_ENDPOINT, PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD
# come from the environment.
provider "proxmox" {
  insecure = true
  ssh { # for snippets and imported disks; the password is the API's
    username = "root"
    node {
      name    = "pve1"
      address = "127.0.0.1"
      port    = var.ssh_port
    }
  }
}

# By API token, for the resources that say so.
provider "proxmox" {
  alias     = "token"
  insecure  = true
  api_token = var.api_token
}

provider "proxmox" {
  alias     = "tenant"
  insecure  = true
  api_token = var.tenant_token
}

variable "tenant_token" {
  description = "of a user with few rights"
  type        = string
  sensitive   = true
}

variable "api_token" {
  type      = string
  sensitive = true
}

variable "ssh_port" {
  description = "of the node pve1"
  type        = number
}

variable "iso_path" {
  description = "a local file to upload as an ISO image"
  type        = string
}

variable "download_url" {
  description = "where the node can download an image"
  type        = string
}

variable "download_sha256" {
  type = string
}

variable "ha_groups" {
  description = "whether this Proxmox VE has HA groups (before 9)"
  type        = bool
}

variable "memory" {
  type    = number
  default = 2048
}

variable "cores" {
  type    = number
  default = 2
}

variable "description" {
  type    = string
  default = "first\nä ö ü & = ; % +"
}

variable "tags" {
  type    = list(string)
  default = ["clients", "tofu"]
}

variable "disk_size" {
  type    = number
  default = 40
}

variable "scratch_started" {
  type    = bool
  default = false
}

variable "extra_disk" {
  type    = bool
  default = false
}

variable "vlan" {
  type    = number
  default = null
}

variable "linked_node" {
  type    = string
  default = "pve3"
}

variable "moved_node" {
  type    = string
  default = "pve3"
}

variable "base_datastore" {
  type    = string
  default = "local-lvm"
}
