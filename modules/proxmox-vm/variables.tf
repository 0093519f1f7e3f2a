variable "vmid" {
  description = "The VMID of the machine; of several, that of the first one."
  type        = number
}

variable "name" {
  description = "The name of the machine. Several are called name-1, name-2 and so on."
  type        = string
  default     = "Flatcar-Linux"
}

variable "description" {
  description = "Notes about the machine, in Markdown. The hook's settings are added to them where it is used."
  type        = string
  default     = null
}

variable "vm_count" {
  description = "How many machines to make, all at once. 0 destroys them."
  type        = number
  default     = 1
  validation {
    condition     = var.vm_count >= 0 && var.vm_count <= 1000
    error_message = "vm_count must be a number from 0 to 1000."
  }
}

variable "tags" {
  description = "Tags of the machine."
  type        = list(string)
  default     = ["terraform"]
}

variable "butane_conf" {
  description = <<-EOT
    The name of a file with a Butane config, as a template: vm_id, vm_name, vm_count and vm_index (from 0) are those of
    the machine that it is for, as values, so that %%{ if vm_index == 0 } works. A change of what a machine gets by it means
    a new machine, which update_policy has to allow.
  EOT
  type        = string
  default     = null
}

variable "butane_path" {
  description = "The folder of snippets, and of files that configs name with local:. Default: that of butane_conf."
  type        = string
  default     = null
}

variable "butane_conf_snippets" {
  description = "Names of further configs in butane_path, templates as well. Each is merged into those before it."
  type        = list(string)
  default     = []
}

variable "butane_delivery" {
  description = <<-EOT
    How machines get their Ignition config. "fwcfg": QEMU's firmware configuration, for images of the platform qemu; takes
    root@pam with its password, and proxplane's hook on the node. "iso": a drive, for images of the platform proxmoxve; an
    API token is enough.
  EOT
  type        = string
  default     = "fwcfg"
  validation {
    condition     = contains(["fwcfg", "iso"], var.butane_delivery)
    error_message = "butane_delivery must be \"fwcfg\" or \"iso\"."
  }
}

variable "fw_cfg_name" {
  description = "The name of the config in QEMU's firmware configuration. Fedora CoreOS reads opt/com.coreos/config."
  type        = string
  default     = "opt/org.flatcar-linux/config"
}

variable "target_node" {
  description = "The node that machines are made on."
  type        = string
}

variable "storage" {
  description = "The storage for disks. Default: where those of the template are."
  type        = string
  default     = null
}

variable "template_name" {
  description = "The name of the template that machines are clones of. It needs no hookscript."
  type        = string
  default     = "flatcar_qemu"
}

variable "full_clone" {
  description = "Copy the disks of the template. False: linked clones, which keep the differences only."
  type        = bool
  default     = true
}

variable "cores" {
  description = "How many CPUs a machine has."
  type        = number
  default     = 2
}

variable "cpu" {
  description = "The type of CPU, such as x86-64-v2-AES."
  type        = string
  default     = "host"
}

variable "memory" {
  description = "Memory in MiB."
  type        = number
  default     = 2048
}

variable "networks" {
  description = "Network interfaces, the first one first. Each has a MAC address that is the same each time and no other's, unless macaddr says one."
  type = list(object({
    bridge  = optional(string, "vmbr0")
    tag     = optional(number)
    mtu     = optional(number)
    macaddr = optional(string)
  }))
  default = [{ bridge = "vmbr0" }]
}

variable "virtiofs" {
  description = "Directories of the node that machines mount by virtiofs. cache: auto, always or never; direct-io: always, or never."
  type = list(object({
    dirid     = string
    tag       = string
    cache     = optional(string)
    direct-io = optional(string)
  }))
  default = []
}

variable "virtiofs_via" {
  description = "\"native\": Proxmox' own virtiofs, from 8.4 on; an API token is enough. \"hook\": proxplane's hook runs the daemon, on earlier ones; takes root@pam with its password."
  type        = string
  default     = "native"
  validation {
    condition     = contains(["native", "hook"], var.virtiofs_via)
    error_message = "virtiofs_via must be \"native\" or \"hook\"."
  }
}

variable "plan9fs" {
  description = "Directories of the node that machines mount by 9p. Takes root@pam with its password."
  type = list(object({
    dirid          = string
    tag            = string
    security_model = optional(string, "mapped-xattr")
    readonly       = optional(bool, false)
    multidevs      = optional(string, "warn")
  }))
  default = []
}

variable "hookscripts" {
  description = "Hookscripts of the machine, which run in this order: local:snippets/notify.sh. Takes root@pam with its password."
  type        = list(string)
  default     = []
}

variable "os_type" {
  description = "The kind of guest in Proxmox' words."
  type        = string
  default     = "l26"
}

variable "os_type_name" {
  description = "Has no effect; os_type says it."
  type        = string
  default     = "Linux 2.6 - 6.X Kernel"
}

variable "bios" {
  description = "\"ovmf\" is UEFI, \"seabios\" the old one."
  type        = string
  default     = "ovmf"
  validation {
    condition     = contains(["ovmf", "seabios"], var.bios)
    error_message = "bios must be \"ovmf\" or \"seabios\"."
  }
}

variable "agent" {
  description = "The guest runs the QEMU agent. An apply waits for its addresses."
  type        = bool
  default     = true
}

variable "onboot" {
  description = "Start machines with their node."
  type        = bool
  default     = true
}

variable "startup" {
  description = "When machines start and stop with their node: order=N, up=SECONDS and down=SECONDS, with commas between them. \"order=any\" leaves it open."
  type        = string
  default     = "order=999"
  validation {
    condition     = can(regex("^((order=)?([0-9]+|any)|up=[0-9]+|down=[0-9]+)(, *((order=)?([0-9]+|any)|up=[0-9]+|down=[0-9]+))*$", var.startup))
    error_message = "startup must be such as \"order=999\" or \"order=1,up=30,down=60\"."
  }
}

variable "boot" {
  description = "The devices to boot from: order=scsi0. Default: as in the template."
  type        = string
  default     = null
}

variable "pool" {
  description = "The pool of machines."
  type        = string
  default     = null
}

variable "cloud_init_storage" {
  description = "The storage for the ISO images with Ignition configs."
  type        = string
  default     = "local"
}

variable "disks" {
  description = "Disks of machines. The one in root_disk_slot is the template's, which can be made larger; others are added."
  type = list(object({
    slot           = string
    storage        = optional(string)
    type           = optional(string)
    id             = optional(number)
    asyncio        = optional(string)
    backup         = optional(bool)
    cache          = optional(string)
    discard        = optional(bool)
    disk_file      = optional(string)
    emulatessd     = optional(bool)
    format         = optional(string)
    iothread       = optional(bool)
    iso            = optional(string)
    linked_disk_id = optional(number)
    passthrough    = optional(bool)
    readonly       = optional(bool)
    replicate      = optional(bool)
    serial         = optional(string)
    size           = optional(string)
    wwn            = optional(string)
  }))
  default = []
  validation {
    condition     = alltrue([for d in var.disks : can(regex("^(scsi|virtio|sata)[0-9]{1,2}$", d.slot))])
    error_message = "slot must be scsi0 to scsi30, virtio0 to virtio15 or sata0 to sata5. Drives for first-boot data aren't named: machines get them by themselves."
  }
  validation {
    condition     = alltrue([for d in var.disks : d.type == null || d.type == "disk"])
    error_message = "type must be \"disk\": drives for ISO images aren't for clones of a template, and cloud-init drives aren't needed."
  }
  validation {
    condition = alltrue([for d in var.disks : d.asyncio == null && d.disk_file == null && d.iso == null && d.linked_disk_id == null && d.serial == null && d.wwn == null &&
    !coalesce(d.passthrough, false) && !coalesce(d.readonly, false) && coalesce(d.replicate, true)])
    error_message = "Leave out asyncio, disk_file, iso, linked_disk_id, passthrough, readonly, replicate = false, serial and wwn: proxplane doesn't set them."
  }
  validation {
    condition     = alltrue([for d in var.disks : d.size == null || can(regex("^[0-9]+[KMGT]$", d.size))])
    error_message = "size must be such as \"20G\" or \"8694M\"."
  }
}

variable "root_disk_slot" {
  description = "The slot of the template's disk."
  type        = string
  default     = "scsi0"
}

variable "update_policy" {
  description = "What may be done without asking again, each \"Allow\" or \"Never\": restart (changes that machines can't take while they run), replace (another Ignition config), move (another target_node), scale_down (a smaller vm_count), remove_disks."
  type = object({
    restart      = optional(string)
    replace      = optional(string)
    move         = optional(string)
    scale_down   = optional(string)
    remove_disks = optional(string)
  })
  default = {}
}

variable "original" {
  description = <<-EOT
    The machines were made by terraform-proxmox-vm, and go on as they are: a plan moves them here and changes nothing in Proxmox but whose they are. A machine that isn't there yet gets all that the
    variables say, by proxplane's hook. What machines got at their first boot stays: for another Butane config, destroy a machine by -replace.
  EOT
  type        = bool
  default     = false
}

variable "set" {
  description = "What machines are known by in Proxmox. Default: proxmox-vm-VMID."
  type        = string
  default     = null
}

variable "pm_api_url" {
  description = "The URL of the API: https://pve.example.com:8006, with /api2/json or without."
  type        = string
}

variable "pm_user" {
  description = "The user whose password pm_password is."
  type        = string
  default     = "root@pam"
}

variable "pm_password" {
  description = "The user's password. Without it and without a token, the environment says who logs in: PVE_TOKEN_ID and PVE_TOKEN_SECRET, or PVE_USERNAME and PVE_PASSWORD."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = ""
}

variable "pm_api_token_id" {
  description = "An API token instead of a password: terraform@pve!ci. It is enough for all that doesn't say that it takes root@pam."
  type        = string
  default     = null
}

variable "pm_api_token_secret" {
  description = "The token's secret."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = null
}

variable "pm_tls_insecure" {
  description = "Trust any certificate. pm_fingerprint is as easy, and safe."
  type        = bool
  default     = true
}

variable "pm_fingerprint" {
  description = "The SHA-256 fingerprint of the certificate, as Proxmox shows it under the node's certificates."
  type        = string
  default     = null
}
