package terraform_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/anyguest"
)

// configs are the configs of all guests, without what marks them as ours.
func (b *bench) configs() map[string]string {
	all := map[string]string{}
	b.server.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			for key, value := range vm.Conf {
				if key != "description" && key != "tags" && key != "digest" {
					all[fmt.Sprintf("%d %s", id, key)] = value
				}
			}
		}
	})
	return all
}

// same: nothing of a guest has changed.
func (b *bench) same(before map[string]string) {
	b.Helper()
	b.unchanged(before)
	if now := b.configs(); len(now) != len(before) {
		b.Errorf("there were %d settings and there are %d", len(before), len(now))
	}
}

// byHand makes a guest as somebody without proxplane does.
func (b *bench) byHand(id int, conf pve.Settings) {
	b.Helper()
	params := pve.Params{"vmid": id}
	for key, value := range conf {
		params[key] = value
	}
	if err := b.server.Call(b.Context(), "POST", "/nodes/pve2/qemu", params); err != nil {
		b.Fatal(err)
	}
}

func TestWhatWasMadeByHandIsImportedWithGeneratedConfig(t *testing.T) {
	b := begin(t)
	var blocks strings.Builder
	for i, m := range anyguest.ByHand {
		b.byHand(700+i, m.Config)
		fmt.Fprintf(&blocks, "import {\n  to = proxplane_virtual_machine.vm%d\n  id = %q\n}\n", i, fmt.Sprint(700+i))
	}
	before := b.configs()
	b.config(blocks.String())
	out, code := b.run("plan", "-generate-config-out=generated.tf", "-detailed-exitcode")
	if code != 2 {
		t.Fatalf("plan ended with %d:\n%s", code, out)
	}
	n := len(anyguest.ByHand)
	b.says(out, fmt.Sprintf("Plan: %d to import, 0 to add, %d to change, 0 to destroy", n, n), "plain is adopted", "VM 700 on pve2 gets a marker in its notes, and two tags")
	b.same(before)
	for _, line := range strings.Split(out, "~ ") {
		if name, _, _ := strings.Cut(line, " "); name != "drift" && name != "resource" && !strings.HasPrefix(line, "update") && line != strings.Split(out, "~ ")[0] {
			t.Errorf("something else changes: %s", line)
		}
	}
	b.apply()
	b.same(before)
	b.settled()

	// They are ours now, and stay in Proxmox when they are let go.
	if err := os.Remove(filepath.Join(b.dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
	b.write("main.tf", head)
	b.apply()
	b.settled()
	b.says(b.do("destroy", "-auto-approve"), "plain stays in Proxmox", "deletion_policy is Retain")
	b.same(before)
}

// plainVM is the configuration of a guest that is small and plain.
const plainVM = `
resource "proxplane_virtual_machine" "plain" {
  name            = %q
  vmid            = 700
  guest_name      = "plain"
  class           = { cpus = 1, memory = %q }
  networks        = [{ name = "net0", slot = "net0", bridge = "vmbr0", mac = %q, dhcp = false }]
  disks           = [{ name = "root", size = "8Gi", storage = "local-lvm" }]
  extra_config    = { ostype = "other" }
  power_state     = "Off"
  deletion_policy = "Retain"
}
`

func TestAnImportedMachineIsKnownByWhatItIs(t *testing.T) {
	b := begin(t)
	plain := maps.Clone(anyguest.ByHand[0].Config)
	plain["net0"] = "virtio=02:00:00:00:07:00,bridge=vmbr0"
	b.byHand(700, plain)
	b.byHand(701, pve.Settings{"name": "twin"})
	b.byHand(702, pve.Settings{"name": "twin"})
	b.server.Advance(10 * time.Second) // lists show names then
	b.config(fmt.Sprintf(plainVM, "plain", "1Gi", "02:00:00:00:07:00"))
	for id, want := range map[string]string{
		"twin": "701 on pve2, 702 on pve2. Say which one by its VMID", "999": "there is no VM 999", "shop/none": "there is no VM shop/none", "ubuntu-22-template": "is a template: name it in an image",
	} {
		out, code := b.run("import", "proxplane_virtual_machine.plain", id)
		if code != 1 {
			t.Errorf("import %s ended with %d", id, code)
		}
		b.says(out, want)
	}
	b.do("import", "proxplane_virtual_machine.plain", "plain")
	// Another name is still the same machine: it isn't ours yet.
	b.config(fmt.Sprintf(plainVM, "front", "1Gi", "02:00:00:00:07:00"))
	b.says(b.planned(), "front is adopted", "0 to add, 1 to change, 0 to destroy")

	// Without its VMID it couldn't be found again.
	b.config(strings.ReplaceAll(fmt.Sprintf(plainVM, "front", "1Gi", "02:00:00:00:07:00"), "vmid            = 700", ""))
	b.says(b.refused(), "Say vmid = 700")

	// Somebody makes another one with its VMID: that isn't it.
	b.touch("plain", "DELETE", "", nil)
	b.byHand(700, pve.Settings{"name": "other"})
	b.config(fmt.Sprintf(plainVM, "front", "1Gi", "02:00:00:00:07:00"))
	b.says(b.refused(), "front: blocked")
	before := b.configs()
	b.config("")
	b.apply()
	b.same(before)
}

func TestAdoptingAndChangingAtOnce(t *testing.T) {
	b := begin(t)
	plain := maps.Clone(anyguest.ByHand[0].Config)
	plain["net0"] = "virtio=02:00:00:00:07:00,bridge=vmbr0"
	b.byHand(700, plain)
	b.config("import {\n  to = proxplane_virtual_machine.plain\n  id = \"700\"\n}\n" + fmt.Sprintf(plainVM, "plain", "2Gi", "02:00:00:00:07:00"))
	b.says(b.planned(), "1 to import, 0 to add, 1 to change", "plain is adopted")
	b.apply()
	b.settled()
	b.server.Do(func(st *pvesim.State) {
		if vm := st.VMs[700]; vm.Conf["memory"] != "2048" || !strings.Contains(vm.Conf["description"], `"door":"terraform"`) {
			t.Errorf("VM 700 is %v", vm.Conf)
		}
	})
}

func TestExistingMachinesAreRefusedIfPeopleSaySo(t *testing.T) {
	b := begin(t)
	b.config(shop(2, "2Gi", ""))
	b.apply()
	vmids := b.vmids()
	if err := os.Remove(filepath.Join(b.dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
	b.write("main.tf", strings.ReplaceAll(head, `set = "shop"`, "set = \"shop\"\n  existing = \"Refuse\"")+shop(2, "2Gi", ""))
	b.says(b.refused(), "web-1 is there already", "of set shop, and the state doesn't have it. Import it, or set existing = \"Adopt\"")
	b.config(shop(2, "2Gi", ""))
	b.apply()
	if now := b.vmids(); now != vmids {
		t.Errorf("there were %s, and now there are %s", vmids, now)
	}
	b.settled()
}

// replicasOf are three machines that somebody has made by hand, alike but for their addresses, as one resource.
const replicasOf = `
resource "proxplane_virtual_machine" "web" {
  name            = "web"
  replicas        = 3
  taken_over      = true
  vmids           = [703, 790]
  class           = { cpus = 1, memory = "1Gi" }
  networks        = [{ name = "net0", slot = "net0", bridge = "vmbr0", dhcp = false }]
  disks           = [{ name = "root", size = "8Gi", storage = "local-lvm" }]
  extra_config    = { ostype = "other" }
  power_state     = "Off"
  deletion_policy = "Retain"
}
`

func TestSeveralMachinesAreImportedAsReplicas(t *testing.T) {
	b := begin(t)
	ids := []int{703, 790, 711} // in no order
	for i, id := range ids {
		conf := maps.Clone(anyguest.ByHand[0].Config)
		conf["name"], conf["net0"] = fmt.Sprint("web-", i+1), fmt.Sprintf("virtio=02:00:00:00:07:%02d,bridge=vmbr0", i)
		b.byHand(id, conf)
	}
	b.server.Advance(10 * time.Second) // lists show names then
	before := b.configs()
	block := func(id string) string {
		return fmt.Sprintf("import {\n  to = proxplane_virtual_machine.web\n  id = %q\n}\n", id)
	}
	b.config(block("web-1, 790") + replicasOf)
	b.says(b.planned(), "1 to import, 0 to add, 1 to change", "web-1 is adopted", "web-2 is adopted") // and web-3 is new
	b.config(block("703,711") + replicasOf)
	b.says(b.refused(), "The VMIDs are missing", "Say vmids = [703, 711]")
	b.config(block("703,703") + replicasOf)
	b.says(b.refused(), "VM 703 is named twice")
	b.config(block("703") + replicasOf)
	b.says(b.refused(), "The number of machines isn't that of the import")
	b.same(before)

	b.config(block("703,790,711"))
	if out, code := b.run("plan", "-generate-config-out=generated.tf", "-detailed-exitcode"); code != 2 {
		t.Fatalf("plan ended with %d:\n%s", code, out)
	} else {
		b.says(out, "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy", "web-3 is adopted", "VM 711 on pve2 gets a marker in its notes, and two tags")
	}
	b.same(before)
	b.apply()
	b.same(before)
	b.settled()

	// A lost state finds them again.
	if err := os.Remove(filepath.Join(b.dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
	b.write("main.tf", head)
	b.apply()
	b.same(before)
	b.settled()
}
