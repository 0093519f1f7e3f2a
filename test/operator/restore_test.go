package operator_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/test/sim"
)

// lose has objects be gone, as with the Kubernetes that had them.
func (s *story) lose(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.kubectl("patch", name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		s.kubectl("delete", name)
	}
}

// Objects that come back from a backup take over what they had.
func TestObjectsOfABackupTakeOverTheirMachines(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone")
	s.provide()
	s.apply(machine("web") + snapshot)
	s.waitFor("--for=condition=Ready", "vm/web", "vmsnapshot/before")
	vmid := s.field("vm/web", ".status.vmid")
	o.stop()
	backup := s.kubectl("get", "virtrigaud", "-o", "yaml")
	s.lose("vm/web", "vmimage/ubuntu", "vmsnapshot/before", "provider/proxmox")
	s.apply(backup)
	s.operate("--alone")
	s.waitFor("--for=condition=Ready", "vm/web", "vmsnapshot/before")
	if s.field("vm/web", ".status.vmid") != vmid || s.machines() != "web" {
		t.Errorf("it was VM %s, and is VM %s; there is %s", vmid, s.field("vm/web", ".status.vmid"), s.machines())
	}
	s.kubectl("delete", "vmsnapshot", "before", "--timeout", patience.String())
	s.kubectl("delete", "vm", "web", "--timeout", patience.String())
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
}

// Objects that are written anew don't know what they had: nothing is made a second
// time, and people say what becomes of it.
func TestObjectsThatAreWrittenAnewMakeNoSecondMachine(t *testing.T) {
	t.Parallel()
	s := begin(t)
	bin := s.plugins()
	o := s.operate("--alone")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	vmid := s.field("vm/web", ".status.vmid")
	o.stop()
	s.lose("vm/web")
	s.apply(machine("web"))
	s.operate("--alone")
	s.waits("vm/web", "VM "+vmid+" on pve. was made for another object of this name, which is gone; kubectl proxplane import "+vmid)
	if s.machines() != "web" {
		t.Fatalf("there is %s", s.machines())
	}
	s.does(bin, "proxplane", "import", vmid, "--yes")
	s.waitFor("--for=condition=Ready", "vm/web")
	if s.field("vm/web", ".status.vmid") != vmid || s.machines() != "web" {
		t.Errorf("it was VM %s, and is VM %s; there is %s", vmid, s.field("vm/web", ".status.vmid"), s.machines())
	}
}

// So it is with snapshots, images and clones, and what they say leads to what they had.
func TestObjectsThatAreWrittenAnewSayHowTheyGetWhatTheyHad(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone")
	s.provide()
	all := strings.ReplaceAll(machine("web", "powerState: Off"), "source: ubuntu-22-template", "url: https://images.example/debian.qcow2, checksum: "+sim.ImageSum()) + snapshot + `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: copy}
spec: {sourceVMRef: {name: ubuntu}, classRef: {name: small}, powerState: Off}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: several}
spec: {count: 2, classRef: {name: small}, imageRef: {name: ubuntu}, powerState: Off}
`
	s.apply(all)
	s.waitFor("--for=condition=Ready", "vm/web", "vmsnapshot/before", "vmclone/copy", "vm/several")
	had := machinesIn(s.pve)
	o.stop()
	lost := []string{"vmsnapshot/before", "vmimage/ubuntu", "vmclone/copy", "vm/several"}
	s.lose(lost...)
	s.apply(all)
	s.operate("--alone")
	advice := regexp.MustCompile(`which is gone; kubectl (annotate .*) takes it over`)
	for _, name := range lost {
		s.waits(name, advice.String())
		s.kubectl(strings.Fields(advice.FindStringSubmatch(s.field(name, ".status.waiting"))[1])...)
		s.waitFor("--for=condition=Ready", name)
	}
	if diff := cmp.Diff(had, machinesIn(s.pve)); diff != "" {
		t.Errorf("there is something else now (-before +after):\n%s", diff)
	}
	s.kubectl("delete", "vmsnapshot,vmclone,vm", "--all", "--timeout", patience.String())
	s.kubectl("delete", "vmimage", "--all", "--timeout", patience.String())
	if len(machinesIn(s.pve)) != 1 {
		t.Errorf("beside the template there is still %v", machinesIn(s.pve))
	}
}
