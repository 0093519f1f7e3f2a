resource "proxplane_placement" "apart" {
  node_selector = ["pve1", "pve2", "pve3"]
  anti_affinity = [{ key = "app", values = ["shop"] }] # no two of them on one node
}

resource "proxplane_virtual_machine" "shop" {
  for_each  = toset(["a", "b"])
  name      = "shop-${each.key}"
  labels    = { app = "shop" }
  class     = { cpus = 1, memory = "1Gi" }
  image     = { source = "ubuntu-22-template" }
  placement = proxplane_placement.apart
}
