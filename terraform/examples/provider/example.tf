terraform {
  required_providers {
    proxplane = { source = "terraform.local/proxplane/proxplane" }
  }
}

provider "proxplane" {
  set      = "shop-${terraform.workspace}" # what this configuration makes is known by it
  networks = { lan = { bridge = "vmbr0" } }
  # PVE_ENDPOINT, and PVE_TOKEN_ID and PVE_TOKEN_SECRET, say where and who;
  # PVE_CA_BUNDLE or PVE_FINGERPRINT, which certificate is right.
}
