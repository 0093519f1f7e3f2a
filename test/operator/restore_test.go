package operator_test

import (
	"testing"
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
