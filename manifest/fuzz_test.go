package manifest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/spec"
)

// FuzzParse reads any text as manifests. What is taken is something that Proxmox
// takes, and the same each time.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no test data (%v)", err)
	}
	for _, file := range append(files, "../examples/testdata/page-blocks.txtar") {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".yaml") {
				f.Add(part.Data)
			}
		}
	}
	for _, c := range badInput {
		f.Add([]byte(c.text()))
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? {a: b}\n: c"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: &i [{<<: *i}]"))
	s, err := schema.Load("9.2")
	if err != nil {
		f.Fatal(err)
	}
	create := s.Lookup("POST", "/nodes/{node}/qemu")
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Parse("fuzz.yaml", data)
		if err != nil {
			return
		}
		wanted, err := set.Wanted(env(login))
		if err != nil {
			return
		}
		again, err := set.Wanted(env(login))
		if err != nil || pretty(t, wanted) != pretty(t, again) {
			t.Errorf("translated twice, it is something else (%v)", err)
		}
		for _, w := range wanted {
			for _, vm := range w.Desired.VMs {
				proxmoxTakes(t, create, vm)
			}
		}
	})
}

// What Proxmox takes for bridges and groups.
var (
	ifaceName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{1,20}$`)
	haGroup   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`)
)

// proxmoxTakes checks all of a machine that Proxmox has rules for.
func proxmoxTakes(t *testing.T, create *schema.Endpoint, vm model.VM) {
	t.Helper()
	if vm.Deleted {
		return
	}
	option := func(key, value string) {
		p := create.Param(key)
		if p == nil || p.Verify(key, value) != nil || strings.ContainsAny(value, "\n\r\x00") && key != "description" {
			t.Errorf("Proxmox doesn't take %s=%q", key, value)
		}
	}
	option("name", vm.Name)
	for key, value := range vm.At(100).Options {
		if value != "" && key != "sshkeys" { // an encoding of its own
			option(key, value)
		}
	}
	for _, d := range vm.Disks {
		if d.Size < 0 || strings.Contains(d.Volume+d.Storage, "..") || strings.Contains(d.Storage, "/") {
			t.Errorf("it has the disk %+v", d)
		}
	}
	for _, n := range vm.NICs {
		if !ifaceName.MatchString(n.Bridge) || n.VLAN < 0 || n.VLAN > 4094 {
			t.Errorf("it has the interface %+v", n)
		}
	}
	if h := vm.HA; h != nil && h.Group != "" && !haGroup.MatchString(h.Group) {
		t.Errorf("it is of the group %q", h.Group)
	}
	if vm.Pool != "" {
		option("pool", vm.Pool)
	}
	if strings.ContainsAny(vm.Description, "\x00\x1b\x7f") {
		t.Errorf("it is described as %q", vm.Description)
	}
	if script := vm.Options["hookscript"]; strings.Contains(script, "..") || strings.Contains(script, ",") {
		t.Errorf("it has the hookscript %q", script)
	}
	if vm.VMID != 0 && (vm.VMID < spec.MinVMID || vm.VMID > spec.MaxVMID) {
		t.Errorf("it has the VMID %d", vm.VMID)
	}
}

// fields are those of a machine and of what it hangs on that take a text, each with
// what makes it matter. VALUE stands for it.
var fields = []string{
	"vm name: VALUE", "vm description: VALUE", "vm vmid: VALUE", "vm count: VALUE", "vm powerState: VALUE", "vm pool: VALUE", "vm tags: [VALUE]", "vm deletionPolicy: VALUE",
	"vm networks: [{name: VALUE}]", "vm networks: [{name: lan, slot: VALUE}]", "vm networks: [{name: lan, bridge: VALUE}]", "vm networks: [{name: lan, vlan: VALUE}]", "vm networks: [{name: lan, mac: VALUE}]",
	"vm networks: [{name: lan, model: VALUE}]", "vm networks: [{name: lan, mtu: VALUE}]", "vm networks: [{name: lan, rate: VALUE}]", "vm networks: [{name: lan, queues: VALUE}]",
	"vm networks: [{name: lan, staticIP: {address: VALUE}}]", "vm networks: [{name: lan, staticIP: {address: 10.0.0.5/24, addresses: [VALUE]}}]", "vm networks: [{name: lan, staticIP: {address: 10.0.0.5/24, gateway: VALUE}}]",
	"vm networks: [{name: lan, staticIP: {address: 10.0.0.5/24, dns: [VALUE]}}]", "vm networks: [{name: lan, staticIP: {address: 10.0.0.5/24, search: [VALUE]}}]",
	"vm disks: [{name: root}, {name: VALUE, size: 1Gi}]", "vm disks: [{name: root, size: VALUE}]", "vm disks: [{name: root, storage: VALUE}]", "vm disks: [{name: root}, {name: data, size: 1Gi, slot: VALUE}]",
	"vm disks: [{name: root, cache: VALUE}]", "vm disks: [{name: root, type: VALUE}]", "vm disks: [{name: root}, {name: data, size: 1Gi, bus: VALUE}]",
	"vm userData: {cloudInit: {inline: VALUE}}", "vm userData: {delivery: proxmox, cloudInit: {inline: VALUE}}", "vm userData: {ignition: {inline: VALUE}}", "vm userData: {butane: {inline: VALUE}}", "vm userData: {delivery: VALUE, cloudInit: {inline: '#!/bin/sh'}}",
	"vm userData: {delivery: fw_cfg, fwCfgName: VALUE, ignition: {inline: '{\"ignition\":{\"version\":\"3.3.0\"}}'}}", "vm metaData: {inline: VALUE}", "vm variables: {a: VALUE}", "vm variables: {VALUE: a}",
	"vm filesystems: [{type: virtiofs, source: VALUE, tag: data}]", "vm filesystems: [{type: virtiofs, source: /srv, tag: VALUE}]", "vm filesystems: [{type: 9p, source: VALUE, tag: data}]", "vm filesystems: [{type: 9p, source: /srv, tag: VALUE}]",
	"vm filesystems: [{type: 9p, source: /srv, tag: data, securityModel: VALUE}]", "vm filesystems: [{type: virtiofs, via: hook, source: VALUE, tag: data}]", "vm hookscripts: [VALUE]",
	"vm extraConfig: {args: VALUE}", "vm extraConfig: {hookscript: VALUE}", "vm extraConfig: {hostpci0: VALUE}", "vm extraConfig: {smbios1: VALUE}", "vm extraConfig: {VALUE: '1'}", "vm extraConfig: {sshkeys: VALUE}", "vm ha: {group: VALUE}", "vm ha: {maxRestart: VALUE}",
	"class cpus: VALUE", "class memory: VALUE", "class minMemory: VALUE", "class maxCPUs: VALUE", "class sockets: VALUE", "class spec: {machine: VALUE}", "class spec: {bios: VALUE}", "class spec: {cpuType: VALUE}", "class spec: {scsiController: VALUE}", "class spec: {vga: VALUE}",
	"class storage: {class: VALUE}", "class extraConfig: {startup: VALUE}", "image source: VALUE", "image url: VALUE", "image iso: VALUE", "image {url: 'https://a.example/b', checksum: VALUE}",
}

// FuzzFields puts any text into any field. Whoever writes the rest well can do no
// harm by it.
func FuzzFields(f *testing.F) {
	for i := range fields {
		for _, value := range []string{
			"", "a", "web-1", "-1", "0", "1e400", "99999999999999999999", "1.5Gi", "a,b=c", "a\nhookscript: local:snippets/x", "a\x00b", "\u202egnp", "../../etc/passwd", "/etc/../etc", "local:snippets/../x", "local:iso/x.iso,media=disk",
			strings.Repeat("a", 300), strings.Repeat("a.", 200), "--", "#cloud-config\npassword: \"x\\ny\"\n", "#cloud-config\nuser: 'a,b'\nssh_authorized_keys: [\"a\\nb\"]\n", "${vm_id}", "2093847561", "$(id)", "order=1;x", "<!-- proxplane {} -->",
		} {
			f.Add(i, value)
		}
	}
	s, err := schema.Load("9.2")
	if err != nil {
		f.Fatal(err)
	}
	create := s.Lookup("POST", "/nodes/{node}/qemu")
	f.Fuzz(func(t *testing.T, which int, value string) {
		if which < 0 || !utf8.ValidString(value) {
			return
		}
		kind, line, _ := strings.Cut(fields[which%len(fields)], " ")
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		line = strings.ReplaceAll(line, "VALUE", string(quoted))
		specs := map[string]string{"vm": "{classRef: {name: c}, imageRef: {name: i}}", "class": "{cpus: 1, memory: 1Gi}", "image": "{source: ubuntu}"}
		switch {
		case kind == "vm":
			specs[kind] = "{classRef: {name: c}, imageRef: {name: i}, " + line + "}"
		case strings.HasPrefix(line, "{"):
			specs[kind] = line
		case kind == "class" && !strings.HasPrefix(line, "cpus") && !strings.HasPrefix(line, "memory"):
			specs[kind] = "{cpus: 1, memory: 1Gi, " + line + "}"
		case strings.HasPrefix(line, "cpus"):
			specs[kind] = "{memory: 1Gi, " + line + "}"
		case strings.HasPrefix(line, "memory"):
			specs[kind] = "{cpus: 1, " + line + "}"
		default:
			specs[kind] = "{" + line + "}"
		}
		text := ""
		for kind, name := range map[string]string{"vm": "VirtualMachine", "class": "VMClass", "image": "VMImage"} {
			text += fmt.Sprintf("---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", name, kind[:1], specs[kind])
		}
		set, err := Parse("fuzz.yaml", []byte(text))
		if err != nil {
			return
		}
		wanted, err := set.Wanted(env(login))
		if err != nil {
			return
		}
		for _, w := range wanted {
			for _, vm := range w.Desired.VMs {
				proxmoxTakes(t, create, vm)
			}
		}
	})
}
