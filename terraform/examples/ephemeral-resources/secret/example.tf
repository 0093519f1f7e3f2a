ephemeral "proxplane_secret" "db" {
  variable = "DB_PASSWORD" # of the environment; or a file: file = "db.password"
}

resource "proxplane_virtual_machine" "db" {
  name  = "db"
  class = { cpus = 2, memory = "4Gi" }
  image = { source = "ubuntu-22-template" }
  user_data = { cloud_init = { inline_wo = <<-EOT
    #cloud-config
    password: ${ephemeral.proxplane_secret.db.value}
  EOT
  } }
}
