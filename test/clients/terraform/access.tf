resource "proxmox_virtual_environment_role" "operators" {
  role_id    = "operators"
  privileges = var.cores > 2 ? ["VM.Audit", "VM.Config.Memory", "VM.PowerMgmt"] : ["VM.Audit", "VM.PowerMgmt"]
}

resource "proxmox_virtual_environment_group" "team" {
  group_id = "team"
  comment  = "team ${var.description}"

  acl {
    path      = "/pool/${proxmox_virtual_environment_pool.clients.pool_id}"
    role_id   = proxmox_virtual_environment_role.operators.role_id
    propagate = true
  }
}

resource "proxmox_virtual_environment_user" "alice" {
  user_id    = "alice@pve"
  password   = "a-strong-password"
  comment    = "Alice & Bob"
  email      = "alice@example.com"
  first_name = "Alice"
  groups     = [proxmox_virtual_environment_group.team.group_id]
}

resource "proxmox_virtual_environment_user_token" "ci" {
  user_id               = proxmox_virtual_environment_user.alice.user_id
  token_name            = "ci"
  comment               = "for ${var.cores} cores"
  privileges_separation = true
}

resource "proxmox_virtual_environment_acl" "token" {
  path      = "/vms"
  token_id  = proxmox_virtual_environment_user_token.ci.id
  role_id   = proxmox_virtual_environment_role.operators.role_id
  propagate = false
}

data "proxmox_virtual_environment_roles" "all" {
  depends_on = [proxmox_virtual_environment_role.operators]
}

data "proxmox_virtual_environment_users" "all" {
  depends_on = [proxmox_virtual_environment_user.alice]
}

data "proxmox_virtual_environment_group" "team" {
  group_id   = proxmox_virtual_environment_group.team.group_id
  depends_on = [proxmox_virtual_environment_user.alice]
}

output "team_members" {
  value = data.proxmox_virtual_environment_group.team.members
}
