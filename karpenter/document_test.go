package karpenter

import (
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
)

// terraformed is what the resource proxmox_virtual_environment_vm of the document becomes in Proxmox: it says no boot order, and its cloud-init drive has no
// user-data.
var terraformed = map[string]string{
	"agent": "enabled=0,fstrim_cloned_disks=0,type=virtio", "cores": "1", "sockets": "1", "cpu": "cputype=host", "description": "Talos 1.10.5 template", "ide2": "local:cloudinit,media=cdrom",
	"ipconfig0": "ip=dhcp,ip6=auto", "keyboard": "en-us", "machine": "q35", "memory": "512", "name": "talos", "nameserver": "1.1.1.1 2001:4860:4860::8888", "net0": "virtio,bridge=vmbr0,firewall=1,mtu=1500",
	"numa": "1", "onboot": "0", "ostype": "l26", "scsi0": "local:3,format=raw,aio=io_uring,backup=1,cache=none,discard=ignore,replicate=1", "scsihw": "virtio-scsi-single", "serial0": "socket", "vga": "type=serial0",
}

// Nodes are made from the templates that the document makes with Terraform, one on each Proxmox node.
func TestTheTemplatesThatTheDocumentMakesWithTerraform(t *testing.T) {
	w := labWorld()
	w.Guests = nil
	for i, n := range w.Nodes {
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 1000 + i, Node: n.Name, Template: true, System: pvesim.WithoutAgent, Config: maps.Clone(terraformed)})
	}
	u := &api.ProxmoxUnmanagedTemplate{}
	if err := yaml.UnmarshalStrict([]byte(unmanagedPage), u); err != nil {
		t.Fatal(err)
	}
	u.Generation = 1
	objects := talos()
	objects[0] = u
	inLab(t, w, objects, func(t *testing.T, l *lab) {
		l.settle()
		for _, zone := range []string{"pve1", "pve2"} {
			conf := l.config(vmidOf(t, l.create(l.claim("on-"+zone, zoneIs(zone)))))
			if conf["cores"] != "2" || conf["memory"] != "4096" || conf["machine"] != "q35" || !strings.Contains(conf["net0"], "mtu=1500") || !strings.Contains(conf["scsi0"], "size=30G") {
				t.Errorf("it is %v", conf)
			}
			if !strings.Contains(conf["ide0"]+conf["ide2"], "proxplane-") {
				t.Errorf("it has no first-boot data: %s, %s", conf["ide0"], conf["ide2"])
			}
		}
	})
}
