data "proxplane_storages" "all" {}

output "for_disks" {
  value = [for s in data.proxplane_storages.all.storages : s.name if contains(s.content, "images")]
}
