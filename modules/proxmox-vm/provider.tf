# As in the module that this one replaces, the connection is part of it. A module with a provider of its own
# can't have count, for_each or depends_on: for that, use proxplane_virtual_machine itself.
provider "proxplane" {
  # Machines are known by it, so it is the same in every workspace that means the same machines.
  set                  = coalesce(var.set, "proxmox-vm-${var.vmid}")
  endpoint             = replace(var.pm_api_url, "/\\/api2\\/json\\/?$/", "")
  insecure_skip_verify = var.pm_fingerprint == null ? var.pm_tls_insecure : null
  fingerprint          = var.pm_fingerprint
  # What is left out here comes from the environment: PVE_* or PROXMOX_VE_*.
  username     = var.pm_password != "" ? var.pm_user : null
  password     = var.pm_password != "" ? var.pm_password : null
  token_id     = var.pm_api_token_id
  token_secret = var.pm_api_token_secret
  defaults     = { iso_storage = var.cloud_init_storage }
}
