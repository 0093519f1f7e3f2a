data "proxplane_nodes" "all" {}

output "free_memory" {
  value = { for n in data.proxplane_nodes.all.nodes : n.name => n.memory_bytes - n.used_bytes if n.online && !n.maintenance }
}
