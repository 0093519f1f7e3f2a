output "ignition" {
  description = "The Ignition config of each machine."
  value = [for m in local.butane : provider::proxplane::butane("$${butane}", {
    snippets  = [for j, name in var.butane_conf_snippets : "$${snippet_${j}}"]
    folder    = local.butane_dir
    variables = m
  })]
}

output "machines" {
  description = "The machines: name, vmid, node, state, mac_addresses and addresses of each."
  value       = var.original ? flatten(proxplane_virtual_machine.original[*].machines) : one(proxplane_virtual_machine.vm[*].machines)
}
