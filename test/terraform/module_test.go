package terraform_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// flatcarWorld is a Proxmox as the examples of the module need it: Flatcar's templates, the hook and some
// hookscripts on the nodes, and a directory to share.
func flatcarWorld() *pvesim.World {
	w := pvesim.DefaultWorld()
	w.Dirs = append(w.Dirs, "/srv/data", "/srv/other")
	w.Pools = append(w.Pools, pvesim.WorldPool{ID: "lab"})
	for i := range w.Storages {
		if w.Storages[i].Name == "local" {
			for _, name := range []string{"proxplane-hook", "one.sh", "two.sh", "three.sh"} {
				w.Storages[i].Volumes = append(w.Storages[i].Volumes, pvesim.WorldVolume{Name: "snippets/" + name, Text: "#!/bin/true"})
			}
		}
	}
	for i, name := range []string{"flatcar-production-qemu-stable-3975.2.0", "flatcar-production-proxmoxve-stable-3975.2.0"} {
		w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 900 + i, Node: "pve1", Template: true, Config: map[string]string{
			"name": name, "ostype": "l26", "bios": "ovmf", "machine": "q35", "efidisk0": "local:1,efitype=4m", "scsihw": "virtio-scsi-single",
			"scsi0": "local:8,format=qcow2", "boot": "order=scsi0", "serial0": "socket", "agent": "enabled=1",
		}})
	}
	return w
}

// example is a folder of examples/terraform with the modules beside it, as people have it.
func example(t *testing.T, name string) *bench {
	t.Helper()
	b := beginIn(t, flatcarWorld())
	b.take(name)
	return b
}

// take copies an example, and finds its modules.
func (b *bench) take(name string) {
	b.Helper()
	top := b.dir
	b.dir = filepath.Join(top, "examples", "terraform", name)
	for to, from := range map[string]string{filepath.Join(top, "modules"): "../../modules", b.dir: "../../examples/terraform/" + name} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			b.Fatal(err)
		}
	}
	if name != "for-each" {
		b.asRoot()
	}
	b.env = append(b.env, "TF_VAR_pm_api_url="+b.server.Endpoint+"/api2/json", "TF_VAR_target_node=pve1")
	b.do("get")
}

// asRoot logs in with root's password instead of a token.
func (b *bench) asRoot() {
	b.env = append(b.env, "PVE_TOKEN_ID=", "PVE_TOKEN_SECRET=", "TF_VAR_pm_password=proxplane")
}

// The examples are planned and applied as they are; a second plan is empty, and nothing stays when they are destroyed.
func TestExamplesOfTheModule(t *testing.T) {
	for name, machines := range map[string]string{
		"flatcar":         "flatcar-terraform.example.com",
		"flatcar-plan9fs": "flatcar-plan9fs.example.com",
		"kubernetes":      "k3s-1 k3s-2 k3s-3",
		"for-each":        "db web-a web-b",
	} {
		t.Run(name, func(t *testing.T) {
			b := example(t, name)
			before := b.census()
			b.says(b.planned(), "vmid = ")
			b.apply()
			b.settled()
			if b.machines() != machines {
				t.Errorf("there is %s", b.machines())
			}
			b.shows(name)
			b.destroy()
			b.nothingLeft(before)
		})
	}
}

// The example with k3s gets more machines, and those that are there stay as they are: their configs say nothing of the number.
func TestTheExampleWithK3sGrows(t *testing.T) {
	b := example(t, "kubernetes")
	b.env = append(b.env, "TF_VAR_machines=2")
	b.apply()
	before := b.numbers()
	b.env = append(b.env, "TF_VAR_machines=3")
	b.says(b.planned(), "0 to add, 1 to change, 0 to destroy", "replicas = 2 -> 3")
	b.apply()
	b.settled()
	if now := b.numbers(); len(now) != 3 || !slices.Equal(now[:2], before) {
		t.Errorf("VMs %v are %v", before, now)
	}
}

// The rule of the example keeps machines of one role apart, and no others: two nodes are enough for it.
func TestTheExampleWithForEachNeedsTwoNodes(t *testing.T) {
	w := flatcarWorld()
	w.Nodes = w.Nodes[:2]
	b := beginIn(t, w)
	b.take("for-each")
	b.apply()
	b.settled()
	nodes := map[string]string{}
	b.server.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			nodes[vm.Name()] = vm.Node
		}
	})
	if nodes["web-a"] == nodes["web-b"] || nodes["db"] == "" {
		t.Errorf("machines are on %v", nodes)
	}
}

// shows: the machines of an example are what it says.
func (b *bench) shows(name string) {
	b.Helper()
	switch name {
	case "flatcar":
		b.conf("flatcar-terraform.example.com", map[string]string{
			"args": "name=opt/org.flatcar-linux/config,file=/run/proxplane/ignition/990.ign", "hookscript": "local:snippets/proxplane-hook",
			"description": "An example **Flatcar** machine", "startup": "order=999", "tags": "example;flatcar;", "memory": "1024", "bios": "ovmf", "onboot": "1",
		})
		b.boots("flatcar-terraform.example.com", "data:,flatcar-terraform.example.com", "ssh-ed25519 AAAA", "%5BMatch%5D")
	case "flatcar-plan9fs":
		b.conf("flatcar-plan9fs.example.com", map[string]string{"args": "mount_tag=data,security_model=mapped-xattr"})
		b.boots("flatcar-plan9fs.example.com", "Type=9p")
	case "kubernetes":
		var configs []string
		if b.output("ignition", &configs); len(configs) != 3 || !strings.Contains(configs[0], "cluster-init") || !strings.Contains(configs[2], "worker%3D2") {
			b.Errorf("the output has %v", configs)
		}
		b.boots("k3s-1", "cluster-init", "k3s server")
		b.boots("k3s-2", "worker%3D1", "k3s agent")
		b.boots("k3s-3", "worker%3D2", "k3s agent")
		b.conf("k3s-3", map[string]string{"virtiofs0": "data", "scsi1": "local-lvm:", "scsi0": "size=20G"})
	}
}

// conf: options of a machine have some parts.
func (b *bench) conf(name string, want map[string]string) {
	b.Helper()
	b.server.Do(func(st *pvesim.State) {
		vm := sim.VM(st, name)
		if vm == nil {
			b.Fatalf("there is no %s", name)
		}
		for key, part := range want {
			if !strings.Contains(vm.Conf[key], part) {
				b.Errorf("%s of %s is %q, want %q in it", key, name, vm.Conf[key], part)
			}
		}
	})
}

var seedISO = regexp.MustCompile(`local:iso/proxplane-[a-z0-9-]+\.iso`)

// boots: what a machine gets at its first boot has some parts.
func (b *bench) boots(name string, parts ...string) {
	b.Helper()
	var volume, node string
	b.server.Do(func(st *pvesim.State) {
		vm := sim.VM(st, name)
		if vm == nil {
			return
		}
		node = vm.Node
		for _, value := range vm.Conf { // a drive, or what the hook is told
			if found := seedISO.FindString(value); found != "" {
				volume = found
			}
		}
	})
	image, err := b.server.ReadVolume(node, volume)
	if err != nil {
		b.Fatalf("%s has no drive: %v", name, err)
	}
	for _, p := range parts {
		if !bytes.Contains(image, []byte(p)) {
			b.Errorf("the drive of %s lacks %q", name, p)
		}
	}
}
