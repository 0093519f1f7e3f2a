terraform {
  required_version = ">= 1.9.0"
  required_providers {
    proxplane = {
      source = "terraform.local/proxplane/proxplane" # until there are releases, see docs/terraform.md
    }
  }
}
