terraform {
  required_version = ">= 1.11.0" # ephemeral variables: OpenTofu 1.11
  required_providers {
    proxplane = {
      source = "terraform.local/proxplane/proxplane" # until there are releases, see docs/terraform.md
    }
  }
}
