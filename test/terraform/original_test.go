package terraform_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
)

// originals makes machines as the resources of terraform-proxmox-vm do: clones of its template with arguments for QEMU, and
// notes that its hookscripts read. It returns a state of that module.
func (b *bench) originals(vmid int, name string, count int) string {
	b.Helper()
	var instances []string
	for i := range count {
		id, own := vmid+i, fmt.Sprintf("%s-%d", name, i+1)
		b.call("POST", "/nodes/pve1/qemu/900/clone", pve.Params{"newid": id, "name": own, "full": 0})
		b.call("POST", fmt.Sprintf("/nodes/pve1/qemu/%d/config", id), pve.Params{
			"description": "An **example**\n\nA VM provisioned with Terraform from template flatcar on 2023-11-20T00:00:00Z\n\n## Configuration\n\n```\nhook-script: local:snippets/cloudinit-to-ignition\n" +
				"cloud-init: local:iso/tf-ci-" + own + ".iso\nhook-script: local:snippets/virtiofsd.pl\nvirtiofs: --path \"/srv/data\" --socket /run/virtiofs/vm-fs0\n```\n",
			"args": fmt.Sprintf("-fw_cfg name=opt/org.flatcar-linux/config,file=/etc/pve/local/ignition/%d.ign -object memory-backend-file,id=virtiofs-mem,size=1024M,mem-path=/dev/shm,share=on "+
				"-machine memory-backend=virtiofs-mem -virtfs local,path=/srv/other,mount_tag=other,security_model=mapped-xattr,id=p9,multidevs=warn", id),
			"hookscript": "local:snippets/one.sh", "serial0": "socket", "agent": "enabled=1", "bios": "ovmf", "ostype": "l26", "cores": 2, "sockets": 1, "cpu": "host", "memory": 1024,
			"tags": "example;flatcar", "onboot": 1, "startup": "order=999", "scsihw": "virtio-scsi-single", "net0": "virtio=" + originalMAC(name, id) + ",bridge=vmbr0,tag=5",
		})
		b.call("POST", fmt.Sprintf("/nodes/pve1/qemu/%d/status/start", id), nil)
		instances = append(instances, fmt.Sprintf(`{"index_key": %d, "attributes": {"id": "pve1/qemu/%d", "vmid": %d, "name": %q, "clone": "flatcar-production-qemu-stable-3975.2.0", "define_connection_info": true}}`, i, id, id, own))
	}
	return `{"version": 4, "resources": [
  {"module": "module.k3s", "mode": "managed", "type": "proxmox_vm_qemu", "name": "proxmox_flatcar_vm", "instances": [` + strings.Join(instances, ",") + `]},
  {"module": "module.k3s", "mode": "managed", "type": "proxmox_cloud_init_disk", "name": "ignition_cloud_init", "instances": [{"index_key": 0, "attributes": {"id": "local:iso/x.iso"}}]}
]}`
}

func (b *bench) call(method, path string, params pve.Params) {
	b.Helper()
	if err := b.server.Call(b.Context(), method, path, params); err != nil {
		b.Fatal(err)
	}
}

// What the original has made goes on as it is: with its arguments, its notes and its hookscripts.
func TestMachinesOfTheOriginalModuleAreTakenOver(t *testing.T) {
	b := beginIn(t, flatcarWorld())
	b.write("k3s.tfstate", b.originals(8100, "k3s", 3))
	configs, since := b.configs(), b.running()
	text, code := b.proxplane("tf", "migrate", "k3s.tfstate", "--set", "shop")
	if code != 0 {
		t.Fatalf("tf migrate ended with %d:\n%s", code, text)
	}
	ours, removed, _ := strings.Cut(text, "# These take machines out of the old resources")
	b.says(removed, "from = module.k3s.proxmox_vm_qemu.proxmox_flatcar_vm", "# - module.k3s.proxmox_cloud_init_disk.ignition_cloud_init[0]")
	b.write("main.tf", ours) // Telmate's provider isn't here to let go of them
	b.onlyAdopted(3)
	b.apply()
	b.settled()
	b.same(configs)
	if now := b.running(); !maps.Equal(now, since) {
		t.Errorf("machines ran since %v, and run since %v", since, now)
	}
	b.conf("k3s-2", map[string]string{"description": "hook-script: local:snippets/virtiofsd.pl\nvirtiofs: --path \"/srv/data\"", "hookscript": "local:snippets/one.sh"})
}

// As the module says, such a machine would have to be made anew: what it got at its first boot isn't known. That is told, and
// isn't done unasked.
func TestTheModuleReplacesNoMachineOfTheOriginalUnasked(t *testing.T) {
	b := example(t, "flatcar")
	b.originals(990, "Node", 1)
	const butane = `butane_conf = "${path.module}/flatcar.bu.tftpl"
  butane_path = "${path.module}/butane.d"
  `
	b.write("import.tf", strings.Split(head, "provider \"proxplane\"")[0]+"import {\n  to = module.flatcar.proxplane_virtual_machine.vm[0]\n  id = \"990\"\n}\n")
	before := b.configs()
	b.with(butane)
	b.says(b.refused(), "replace VM 990 (its Ignition config is another one, and is read at the first boot only) isn't done: set update_policy.replace")
	b.with(butane + `update_policy = { replace = "Allow" }`)
	b.says(b.planned(), "node is destroyed and made anew")
	b.same(before)
}
