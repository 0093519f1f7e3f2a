data "proxplane_templates" "all" {}

output "ubuntu" {
  value = [for t in data.proxplane_templates.all.templates : "${t.name} on ${t.node}" if startswith(t.name, "ubuntu")]
}
