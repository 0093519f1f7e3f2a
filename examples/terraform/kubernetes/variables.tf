variable "pm_api_url" {
  type    = string
  default = "https://proxmox:8006/api2/json"
}

variable "pm_user" {
  type    = string
  default = "root@pam"
}

variable "pm_password" {
  type      = string
  sensitive = true
  ephemeral = true
  default   = ""
}

variable "target_node" {
  type = string
}

variable "bridge" {
  type    = string
  default = "vmbr0"
}

variable "network_tag" {
  description = "The VLAN; 0 is none."
  type        = number
  default     = 0
}
