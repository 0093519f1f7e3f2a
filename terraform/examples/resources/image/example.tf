# A template that is fetched, on each node that needs it.
resource "proxplane_image" "debian" {
  name     = "debian-13"
  url      = "https://images.example.com/debian-13-genericcloud-amd64.qcow2"
  checksum = "…" # SHA-256, or another that its length tells
  os       = { agent = false }
}

# A template that is there already.
resource "proxplane_image" "ubuntu" {
  name   = "ubuntu"
  source = "ubuntu-22-template"
}

resource "proxplane_virtual_machine" "db" {
  name  = "db"
  class = { cpus = 2, memory = "4Gi" }
  image = proxplane_image.debian
}
