package manifest

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
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
	if vm.VMID != 0 && (vm.VMID < minVMID || vm.VMID > maxVMID) {
		t.Errorf("it has the VMID %d", vm.VMID)
	}
}
