package terraform_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// shop is a configuration with several machines at once, and some of for_each.
func shop(replicas int, memory, more string) string {
	return fmt.Sprintf(`
resource "proxplane_image" "ubuntu" {
  name   = "ubuntu"
  source = "ubuntu-22-template"
}
resource "proxplane_virtual_machine" "web" {
  name     = "web"
  replicas = %d
  class    = { cpus = 2, memory = %q }
  image    = proxplane_image.ubuntu
  tags     = ["shop"]
  %s
}
resource "proxplane_virtual_machine" "db" {
  for_each = toset(["a", "b"])
  name     = "db-${each.key}"
  class    = { cpus = 1, memory = "1Gi" }
  image    = { source = "ubuntu-22-template" }
  networks = [{ name = "lan", vlan = 5 }]
  disks    = [{ name = "root", size = "20Gi" }, { name = "data", size = "5Gi" }]
}
output "web" {
  value = proxplane_virtual_machine.web.machines
}
`, replicas, memory, more)
}

type machine struct {
	Name, Node, State string
	VMID              int
	Addresses         []string
	MACs              []string `json:"mac_addresses"`
}

func TestMachinesComeChangeAndGo(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.config(shop(3, "2Gi", ""))
	b.says(b.planned(), "4 to add", "vmid = ")
	b.apply()
	b.settled()
	var web []machine
	if b.output("web", &web); len(web) != 3 {
		t.Fatalf("the output has %v", web)
	}
	for _, m := range web {
		if m.VMID == 0 || m.Node == "" || m.State != "running" || len(m.Addresses) == 0 || len(m.MACs) != 1 {
			t.Errorf("not all is known of %+v", m)
		}
	}
	if b.machines() != "db-a db-b web-1 web-2 web-3" {
		t.Fatalf("there is %s", b.machines())
	}

	// A tag is live, whatever else a change would need.
	b.config(strings.ReplaceAll(shop(3, "2Gi", ""), `["shop"]`, `["shop", "front"]`))
	if out := b.apply(); strings.Contains(out, "restart") || !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
		t.Errorf("a tag did more than it should:\n%s", out)
	}

	// What needs a restart says so and isn't done unasked.
	b.config(shop(3, "4Gi", ""))
	b.says(b.refused(), "web-1 and 2 others: change not allowed", "web-3: restart VM", "memory is applied at a restart only", `update_policy.restart = "Allow"`)
	b.config(shop(3, "4Gi", `update_policy = { restart = "Allow" }`))
	b.says(b.apply(), "web-1 and 2 others are restarted", "memory 2048 → 4096 MiB")
	b.settled()

	// Fewer machines are agreed to as well.
	b.config(shop(2, "4Gi", ""))
	b.says(b.refused(), "web-3 would be destroyed, with all disks", `update_policy.scale_down = "Allow"`)
	b.config(shop(2, "4Gi", `update_policy = { scale_down = "Allow" }`))
	b.says(b.apply(), "web-3 loses data")
	b.settled()
	if b.machines() != "db-a db-b web-1 web-2" {
		t.Fatalf("there is %s", b.machines())
	}
	b.destroy()
	b.nothingLeft(before)
}

func TestDriftIsToldAndChangedBack(t *testing.T) {
	b := begin(t)
	b.config(shop(1, "2Gi", ""))
	b.apply()
	b.touch("db-b", "POST", "/config", pve.Params{"net0": "virtio,bridge=vmbr1"})
	b.touch("db-a", "POST", "/status/stop", nil)
	out := b.planned()
	b.says(out, "2 to change", "db-a: start VM", "db-b: configure VM", "bridge vmbr1 → vmbr0")
	b.apply()
	b.settled()

	// What somebody has destroyed is made anew.
	b.touch("db-b", "POST", "/status/stop", nil)
	b.touch("db-b", "DELETE", "", nil)
	b.says(b.planned(), "1 to add, 0 to change")
	b.apply()
	b.settled()
}

func TestALostStateLosesNothing(t *testing.T) {
	b := begin(t)
	b.config(shop(2, "2Gi", ""))
	b.apply()
	vmids := b.vmids()
	if err := os.Remove(filepath.Join(b.dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
	out := b.planned()
	b.says(out, "Machines are there already")
	for _, known := range []string{"node", "state", "mac_addresses", "vmid"} {
		if strings.Contains(out, known+" = (known after apply)") {
			t.Errorf("the plan doesn't know the %s of machines that are there:\n%s", known, out)
		}
	}
	b.apply()
	if now := b.vmids(); now != vmids {
		t.Errorf("there were %s, and now there are %s", vmids, now)
	}
	b.settled()

	// Another set knows nothing of them.
	other := beside(t, b.server)
	other.write("main.tf", strings.ReplaceAll(head, `"shop"`, `"other"`)+shop(2, "2Gi", ""))
	other.apply()
	other.destroy()
	if now := b.vmids(); now != vmids {
		t.Errorf("there were %s, and now there are %s", vmids, now)
	}
	b.settled()
}

// vmids are those of all machines.
func (b *bench) vmids() string {
	var list []string
	b.server.Do(func(st *pvesim.State) {
		for _, name := range strings.Fields(b.names(st)) {
			list = append(list, fmt.Sprintf("%s=%d", name, sim.VM(st, name).ID))
		}
	})
	return strings.Join(list, " ")
}

func TestSecretsAreInNoFile(t *testing.T) {
	b := begin(t)
	const secret = "geheim-4711"
	b.env = append(b.env, "TF_VAR_secret="+secret)
	b.config(shop(1, "2Gi", `user_data = { cloud_init = { inline_wo = "#cloud-config\npassword: ${var.secret}\n" } }`) + "variable \"secret\" {\n  ephemeral = true\n}\n")
	b.do("plan", "-out=plan.bin")
	shown, _ := b.run("show", "-json", "plan.bin")
	b.do("apply", "plan.bin")
	b.settled()
	state, err := os.ReadFile(filepath.Join(b.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"state": string(state), "plan": shown} {
		if strings.Contains(text, secret) || !strings.Contains(text, "web-1") {
			t.Errorf("the %s holds the secret, or nothing at all:\n%s", name, text)
		}
	}

	// Another secret is another first boot: it is told.
	b.env = append(b.env, "TF_VAR_secret=other-0815")
	b.says(b.planned(), "proxplane_virtual_machine.web will be updated in-place", "drift = [] -> (known after apply)")
}

func TestWhatCantBeIsToldBeforeAnythingIsMade(t *testing.T) {
	b := begin(t)
	for want, config := range map[string]string{
		"class.cpus isn't right":                                         strings.ReplaceAll(shop(1, "2Gi", ""), "cpus = 2", "cpus = 0"),
		"networks[0].vlan isn't right":                                   shop(1, "2Gi", `networks = [{ name = "lan", vlan = 5000 }]`),
		"no template is named \"no-such-image\"":                         strings.ReplaceAll(shop(1, "2Gi", ""), "ubuntu-22-template", "no-such-image"),
		"image has a url and no name":                                    strings.ReplaceAll(shop(1, "2Gi", ""), "image    = proxplane_image.ubuntu", `image = { url = "https://example.com/a.qcow2" }`),
		"Image ubuntu is said in two ways":                               strings.ReplaceAll(shop(1, "2Gi", ""), "image    = proxplane_image.ubuntu", `image = { name = "ubuntu", source = "9000" }`),
		"user_data: cloud_init: inline and inline_wo say the same thing": shop(1, "2Gi", `user_data = { cloud_init = { inline = "#cloud-config", inline_wo = "#cloud-config" } }`),
	} {
		b.config(config)
		b.says(b.refused(), want)
	}
	b.write("main.tf", strings.ReplaceAll(head, `set = "shop"`, "")+shop(1, "2Gi", ""))
	b.says(b.refused(), "The set has no name")
	if b.machines() != "" {
		t.Errorf("there is %s", b.machines())
	}
}

func TestManifestsAsTheyAre(t *testing.T) {
	b := begin(t)
	before := b.census()
	const machines = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: one}
spec: {classRef: {name: small}, imageRef: {name: ubuntu}}
`
	const more = `
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: two}
spec: {classRef: {name: small}, imageRef: {name: ubuntu}}
`
	config := "resource \"proxplane_manifest\" \"all\" {\n  name = \"all\"\n  yaml = file(\"machines.yaml\")\n}\n"
	b.config(config)
	b.write("machines.yaml", machines+more)
	b.apply()
	b.settled()
	b.write("machines.yaml", machines)
	b.says(b.apply(), "two loses data")
	b.settled()
	if b.machines() != "one" {
		t.Errorf("there is %s", b.machines())
	}
	const foreign = "---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: Provider\nmetadata: {name: pve}\nspec: {type: proxmox}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: geheim-4711}\n"
	b.write("machines.yaml", machines+more+foreign)
	b.says(b.refused(), "A Provider is in the manifests", "A Secret is in the manifests")
	b.write("machines.yaml", machines)
	b.destroy()
	b.nothingLeft(before)
}

// What follows from a machine's name, and where it has to be, is known before it is there.
func TestMACAddressesAndNodesAreKnownWhenPlanned(t *testing.T) {
	b := begin(t)
	b.config(`
resource "proxplane_virtual_machine" "web" {
  name      = "web"
  replicas  = 2
  class     = { cpus = 1, memory = "1Gi" }
  image     = { source = "ubuntu-22-template" }
  networks  = [{ name = "lan", bridge = "vmbr0" }]
  placement = { node_selector = ["pve1"] }
}
output "macs" {
  value = [for m in proxplane_virtual_machine.web.machines : "${m.node} ${m.mac_addresses[0]} ${provider::proxplane::mac("shop", m.name, "lan")}"]
}
`)
	out := b.planned()
	b.apply()
	b.settled()
	var lines []string
	b.output("macs", &lines)
	if len(lines) != 2 {
		t.Fatalf("%q", lines)
	}
	for _, line := range lines {
		b.says(out, line) // the output was known
		if words := strings.Fields(line); len(words) != 3 || words[0] != "pve1" || !strings.EqualFold(words[1], words[2]) {
			t.Errorf("%s", line)
		}
	}
}

// Proxmox has interfaces in the order of their slots, whatever the order in the configuration is; and what changes of one doesn't change its address.
func TestInterfacesKeepTheAddressesThatThePlanHasShown(t *testing.T) {
	b := begin(t)
	const config = `
resource "proxplane_virtual_machine" "web" {
  name     = "web"
  class    = { cpus = 1, memory = "1Gi" }
  image    = { source = "ubuntu-22-template" }
  networks = [{ name = "lan", slot = "net1", vlan = %d }, { name = "dmz", slot = "net0", mac = "02:aa:bb:cc:dd:0e" }]
}
output "macs" {
  value = proxplane_virtual_machine.web.machines[0].mac_addresses
}
`
	b.config(fmt.Sprintf(config, 5))
	b.says(b.planned(), `mac_addresses = [ + "02:AA:BB:CC:DD:0E",`)
	b.apply()
	b.settled()
	b.config(fmt.Sprintf(config, 6))
	out := b.planned()
	b.says(out, "vlan = 5 -> 6")
	for _, known := range []string{"macs", "mac_addresses", "state"} {
		if strings.Contains(out, "~ "+known) {
			t.Errorf("%s would change:\n%s", known, out)
		}
	}
	b.apply()
	b.settled()
}

// That a machine is protected is said before others are destroyed.
func TestAProtectedMachineIsToldByThePlan(t *testing.T) {
	b := begin(t)
	before := b.census()
	config := fleet(1) + strings.Replace(strings.Replace(fleet(1), `"node"`, `"kept"`, 1), "name  = \"node-", "protection = true\n  name  = \"kept-", 1)
	b.config(config)
	b.apply()
	out, code := b.run("destroy", "-auto-approve")
	if code != 1 || b.machines() != "kept-0 node-0" {
		t.Errorf("destroy ended with %d, and there is %s", code, b.machines())
	}
	b.says(out, "kept-0 is protected", "apply protection = false first")
	b.config(strings.Replace(config, "protection = true", "protection = false", 1))
	b.apply()
	b.destroy()
	b.nothingLeft(before)
}
