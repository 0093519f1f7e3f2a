package main

import (
	"fmt"

	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// client is a provider, and how people make several machines with it.
type client struct {
	name    string // for people
	short   string // what README.md calls making 100 machines with it
	source  string // of the provider
	program func(*programs) string
	config  func(sim *outside.Sim, n int) string
	one     bool // all machines are one resource: Terraform's parallelism doesn't matter
	theirs  bool
}

func clients() []client {
	ours := func(p *programs) string { return p.ours }
	return []client{
		{name: "ours, `replicas`", short: "create 100 machines with OpenTofu, one resource with `replicas`", source: terraform.Address, program: ours, one: true, config: func(sim *outside.Sim, n int) string {
			return ourHead(sim) + fmt.Sprintf(ourMachine, "web", fmt.Sprintf("name = \"web\"\n  replicas = %d", n))
		}},
		{name: "ours, `for_each`", short: "the same with `for_each`, of which OpenTofu makes ten at a time", source: terraform.Address, program: ours, config: func(sim *outside.Sim, n int) string {
			return ourHead(sim) + fmt.Sprintf(ourMachine, "web", fmt.Sprintf("for_each = toset([for i in range(%d) : tostring(i)])\n  name = \"web-${each.key}\"", n))
		}},
		{name: "bpg, `for_each`", short: "the same with bpg/proxmox 0.75.0", source: bpgAddress, program: func(p *programs) string { return p.bpg }, theirs: true, config: bpgConfig},
	}
}

// bpgAddress is a name that nobody asks a registry for.
const bpgAddress = "mirror.test/bpg/proxmox"

func ourHead(sim *outside.Sim) string {
	return fmt.Sprintf(`
terraform {
  required_providers {
    proxplane = { source = %q }
  }
}
provider "proxplane" {
  set          = "bench"
  endpoint     = %q
  fingerprint  = %q
  token_id     = %q
  token_secret = %q
  networks     = { lan = { bridge = "vmbr0" } }
}
`, terraform.Address, sim.URL, sim.Fingerprint, world.TokenID, world.TokenSecret)
}

const ourMachine = `
resource "proxplane_virtual_machine" %q {
  %s
  class    = { cpus = 2, memory = "1Gi" }
  image    = { source = "` + world.Template + `" }
  networks = [{ name = "lan" }]
  disks    = [{ name = "root", size = "10Gi" }]
  tags     = ["bench"]
  agent    = { wait_for_address = true }
}
`

// bpgConfig are the same machines, spread over the nodes by hand since that provider doesn't choose any, as
// linked clones with VMIDs of their own, since it would look for each.
func bpgConfig(sim *outside.Sim, n int) string {
	return fmt.Sprintf(`
terraform {
  required_providers {
    proxmox = { source = %q }
  }
}
provider "proxmox" {
  endpoint  = "%s/"
  insecure  = true
  api_token = "%s=%s"
}
resource "proxmox_virtual_environment_vm" "web" {
  for_each  = toset([for i in range(%d) : tostring(i)])
  name      = "web-${each.key}"
  vm_id     = 1000 + each.key
  node_name = "pve${each.key %% 5 + 1}"
  tags      = ["bench"]
  clone {
    vm_id = 9001 + each.key %% 5
    full  = false
  }
  agent {
    enabled = true
  }
  cpu {
    cores = 2
  }
  memory {
    dedicated = 1024
  }
  disk {
    datastore_id = "local"
    interface    = "scsi0"
    size         = 10
  }
  network_device {
    bridge = "vmbr0"
  }
}
`, bpgAddress, sim.URL, world.TokenID, world.TokenSecret, n)
}
