package terraform_test

import (
	"fmt"
	"strings"
	"testing"
)

// moduleWith is a call of the module, with further arguments.
func moduleWith(more string) string {
	return fmt.Sprintf(`
module "flatcar" {
  source        = "../../../modules/proxmox-vm"
  vmid          = 990
  name          = "Node"
  pm_api_url    = var.pm_api_url
  pm_user       = var.pm_user
  pm_password   = var.pm_password
  target_node   = var.target_node
  template_name = "flatcar-production-qemu-stable-3975.2.0"
  full_clone    = false
  %s
}
output "machines" {
  value = module.flatcar.machines
}
`, more)
}

// with has the folder of the example call the module in another way.
func (b *bench) with(more string) { b.Helper(); b.write("main.tf", moduleWith(more)) }

// What only root may set is told before anything is made; what a token may do, it does.
func TestWhatTakesRootIsToldByThePlan(t *testing.T) {
	b := example(t, "flatcar")
	b.env = append(b.env, "TF_VAR_pm_password=")
	const butane = `butane_conf = "${path.module}/flatcar.bu.tftpl"
  butane_path = "${path.module}/butane.d"
  pm_api_token_id     = "me@pve!laptop"
  pm_api_token_secret = "c0ffee00-0000-4000-8000-000000000000"
  `
	for what, more := range map[string]string{
		"user_data.delivery": "",
		"filesystems":        `butane_delivery = "iso"` + "\n" + `plan9fs = [{ dirid = "/srv/data", tag = "data" }]`,
		"hookscripts":        `butane_delivery = "iso"` + "\n" + `hookscripts = ["local:snippets/one.sh"]`,
	} {
		b.with(butane + more)
		b.says(b.refused(), "root@pam", what)
	}
	if b.machines() != "" {
		t.Fatalf("there is %s", b.machines())
	}
	b.with(butane + `butane_delivery = "iso"` + "\n" + `virtiofs = [{ dirid = "/srv/data", tag = "data" }]`)
	b.apply()
	b.settled()
	b.conf("Node", map[string]string{"virtiofs0": "data"})
}

// Three hookscripts, 9p and virtiofs at once, with a config of more than the notes could hold and with commas in it.
func TestNothingIsTooMuchForTheHook(t *testing.T) {
	b := example(t, "flatcar")
	b.write("butane.d/large.conf", strings.Repeat("a,b,c\n", 10_000))
	b.write("large.bu.tftpl", "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/large.conf\n      contents: {local: large.conf}\n    - path: /etc/list\n      contents: {inline: \"x,,y\"}\n")
	b.with(`butane_conf = "${path.module}/large.bu.tftpl"
  butane_path = "${path.module}/butane.d"
  hookscripts = ["local:snippets/one.sh", "local:snippets/two.sh", "local:snippets/three.sh"]
  virtiofs    = [{ dirid = "/srv/data", tag = "data", cache = "always" }]
  virtiofs_via = "hook"
  plan9fs     = [{ dirid = "/srv/other", tag = "other", readonly = true }]
  pool        = "lab"
  description = "People may write here."`)
	b.apply()
	b.settled()
	b.boots("Node", "x%2C%2Cy")
	b.conf("Node", map[string]string{
		"hookscript": "local:snippets/proxplane-hook", "args": "file=/run/proxplane/ignition/990.ign",
		"description": "hook-script: local:snippets/one.sh\nhook-script: local:snippets/two.sh\nhook-script: local:snippets/three.sh",
	})
	b.conf("Node", map[string]string{"args": "mount_tag=other", "description": "People may write here."})
}

// Machines that are made together have different MAC addresses, and the same ones each time.
func TestNoTwoMachinesHaveTheSameMAC(t *testing.T) {
	b := example(t, "flatcar")
	const two = "vm_count = 4\n  networks = [{}, { bridge = \"vmbr1\", tag = 7, mtu = 1400 }]\n"
	b.with(two)
	b.apply()
	b.settled()
	var list []machine
	b.output("machines", &list)
	seen := map[string]bool{}
	for i, m := range list {
		if m.VMID != 990+i || m.Name != fmt.Sprintf("node-%d", i+1) {
			t.Errorf("machine %d is %+v", i, m)
		}
		for _, mac := range m.MACs {
			seen[mac] = true
		}
	}
	if len(list) != 4 || len(seen) != 8 {
		t.Errorf("%d machines have %d addresses", len(list), len(seen))
	}
	b.with("vm_count = 2\n  networks = [{ macaddr = \"02:00:00:00:00:01\" }]\n")
	b.says(b.refused(), "can't be that of 2 machines")
	b.with("vm_count = 0")
	b.says(b.apply(), "1 destroyed")
	if b.machines() != "" {
		t.Errorf("there is %s", b.machines())
	}
}

// Arguments that can't be kept are refused with a word about them.
func TestTheModuleRefusesWhatItCantDo(t *testing.T) {
	b := example(t, "flatcar")
	for want, more := range map[string]string{
		"cloud-init drives aren't needed": `disks = [{ slot = "scsi1", type = "cloudinit" }]`,
		"Leave out asyncio":               `disks = [{ slot = "scsi1", size = "1G", wwn = "0x1" }]`,
		"slot must be":                    `disks = [{ slot = "ide2", size = "1G" }]`,
		"startup must be":                 `startup = "later"`,
		"bios must be":                    `bios = "uefi"`,
		"no template is named":            `template_name = "flatcar"`,
	} {
		text := moduleWith(more)
		if strings.HasPrefix(more, "template_name") {
			text = strings.Replace(moduleWith(""), "flatcar-production-qemu-stable-3975.2.0", "flatcar", 1)
		}
		b.write("main.tf", text)
		b.says(b.refused(), want)
	}
	if b.machines() != "" {
		t.Errorf("there is %s", b.machines())
	}
}
