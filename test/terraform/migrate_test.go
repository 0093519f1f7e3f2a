package terraform_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/kit/sim"
	"github.com/proxplane/proxplane/test/kit/tool"
)

// bpgAddress is a name that nobody asks a registry for.
const bpgAddress = "mirror.test/bpg/proxmox"

// bpg finds or builds that provider.
var bpg = sync.OnceValues(func() (*tool.Set, error) {
	ctx := context.Background()
	set, err := tool.Open(ctx, "../clients/bpg")
	if err == nil {
		err = set.Build(ctx, os.Stderr)
	}
	return set, err
})

// withBPG lets the configuration use that provider beside ours.
func (b *bench) withBPG() {
	b.Helper()
	set, err := bpg()
	if err != nil {
		b.Fatal(err)
	}
	b.write("tofurc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n    %q = %q\n  }\n  direct {}\n}\n", terraform.Address, b.dir, bpgAddress, set.Bin))
}

// proxplane runs the command line, and gives its standard output and the exit status.
func (b *bench) proxplane(args ...string) (string, int) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), filepath.Join(provider, "proxplane"), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = b.dir, b.env, b.Output()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// running is since when each machine runs.
func (b *bench) running() map[string]string {
	all := map[string]string{}
	b.server.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if vm.Run != nil {
				all[fmt.Sprint(id)] = fmt.Sprint(vm.Node, " ", vm.Run.Started)
			}
		}
	})
	return all
}

const bpgHead = `
terraform {
  required_providers {
    proxmox = { source = "` + bpgAddress + `" }
  }
}
provider "proxmox" {
  endpoint  = "%s/"
  api_token = "%s=%s"
  insecure  = true
}
`

// bpgMachines are machines as people make them with that provider: a full clone that runs, some with for_each and
// count, and one from nothing with all kinds of devices.
const bpgMachines = `
resource "proxmox_virtual_environment_vm" "front" {
  node_name   = "pve1"
  vm_id       = 4001
  name        = "front.example.com"
  description = "made by bpg"
  tags        = ["shop", "bpg"]
  on_boot     = true
  clone {
    vm_id = 9000
    full  = true
  }
  cpu {
    cores = 2
    type  = "x86-64-v2-AES"
  }
  memory {
    dedicated = 2048
  }
  network_device {
    bridge  = "vmbr0"
    vlan_id = 17
  }
  initialization {
    ip_config {
      ipv4 {
        address = "192.0.2.10/24"
        gateway = "192.0.2.1"
      }
    }
    user_account {
      username = "ubuntu"
      keys     = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPQ1bxyrPUVnAGJtsGWAN/hhyCZvOlPRzHZ4kp1yfSL alice@example.com"]
    }
  }
  startup {
    order    = "3"
    up_delay = "60"
  }
}

resource "proxmox_virtual_environment_vm" "web" {
  for_each  = { a = 1024, b = 2048 }
  node_name = "pve1"
  vm_id     = each.key == "a" ? 4101 : 4102
  name      = "web-${each.key}"
  clone {
    vm_id = 9000
    full  = false
  }
  memory {
    dedicated = each.value
  }
  network_device {
    bridge = "vmbr0"
  }
}

resource "proxmox_virtual_environment_vm" "db" {
  count     = 2
  node_name = "pve2"
  vm_id     = 4200 + count.index
  name      = "db-${count.index}"
  started   = false
  bios      = "ovmf"
  machine   = "q35"
  scsi_hardware = "virtio-scsi-single"
  efi_disk {
    datastore_id = "local-lvm"
    type         = "4m"
  }
  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = 8
    iothread     = true
    discard      = "on"
    serial       = "root-disk"
    speed {
      read = 100
    }
  }
  network_device {
    bridge   = "vmbr0"
    firewall = true
  }
  network_device {
    bridge = "vmbr1"
    model  = "e1000"
  }
  serial_device {}
  operating_system {
    type = "l26"
  }
}
`

var changedAttribute = regexp.MustCompile(`(?m)^ +[~+-] ([a-z_]+) `)

// onlyAdopted: a plan imports machines, and changes nothing but whose they are.
func (b *bench) onlyAdopted(n int) {
	b.Helper()
	cmd := b.command("plan", "-detailed-exitcode")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 2 {
		b.Fatalf("the plan ended with %d:\n%s", code, out)
	}
	b.says(unfolded(string(out)), fmt.Sprintf("Plan: %d to import, 0 to add, %d to change, 0 to destroy", n, n))
	for _, m := range changedAttribute.FindAllStringSubmatch(string(out), -1) {
		if m[1] != "drift" && m[1] != "resource" && m[1] != "update" { // the last is in the legend
			b.Errorf("%s would change:\n%s", m[1], out)
		}
	}
}

func TestMachinesOfBPGAreTakenOver(t *testing.T) {
	b := begin(t)
	b.withBPG()
	old := fmt.Sprintf(bpgHead, b.server.Endpoint, sim.TokenID, sim.TokenSecret)
	b.write("main.tf", old+bpgMachines)
	b.apply()
	configs, since := b.configs(), b.running()
	if len(since) < 3 {
		t.Fatalf("only these run: %v", since)
	}

	text, code := b.proxplane("tf", "migrate", "terraform.tfstate", "--set", "shop")
	if code != 0 {
		t.Fatalf("tf migrate ended with %d:\n%s", code, text)
	}
	// The old provider is needed once more, to let go of them.
	b.write("main.tf", strings.Replace(old, "required_providers {", "required_providers {\n    proxplane = { source = \""+terraform.Address+"\" }", 1))
	b.write("proxplane.tf", text)
	b.onlyAdopted(5)
	b.same(configs)
	b.apply()
	b.settled()
	b.same(configs)
	if now := b.running(); !maps.Equal(now, since) {
		t.Errorf("machines ran since %v, and run since %v", since, now)
	}
	b.server.Do(func(st *pvesim.State) {
		for _, id := range []int{4001, 4101, 4102, 4200, 4201} {
			if !strings.Contains(st.VMs[id].Conf["description"], `"door":"terraform"`) {
				t.Errorf("VM %d isn't marked: %s", id, st.VMs[id].Conf["description"])
			}
		}
	})
	// The old state has nothing of them any more.
	list, _ := b.run("state", "list")
	if strings.Contains(list, "proxmox_") || strings.Count(list, "proxplane_virtual_machine.") != 5 {
		t.Errorf("the state has %s", list)
	}
}
