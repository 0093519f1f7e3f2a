package operator_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/test/kit/sim"
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
	o.Stop()
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

// A backup doesn't name the machines of a count, and some may be beyond it: these go with
// the object, too.
func TestACountOfABackupForgetsNoMachine(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone")
	s.provide()
	s.apply(several("3", "Never"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.kubectl("scale", "vm/web", "--replicas=1")
	s.waits("vm/web", "destroy web-2, web-3 ")
	o.Stop()
	backup := s.kubectl("get", "vm", "web", "-o", "yaml")
	s.lose("vm/web")
	s.apply(backup)
	s.operate("--alone")
	s.waitFor("--for=condition=Ready", "vm/web")
	if len(strings.Fields(s.machines())) != 3 {
		t.Errorf("there is %s", s.machines())
	}
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
	web := machine("web", "networks: [{name: lan}]") // its MAC address follows from what it is known by
	s.apply(web)
	s.waitFor("--for=condition=Ready", "vm/web")
	vmid := s.field("vm/web", ".status.vmid")
	o.Stop()
	s.lose("vm/web")
	s.apply(web)
	s.operate("--alone")
	s.waits("vm/web", "VM "+vmid+" on pve. was made for another object of this name, which is gone; kubectl annotate .* takes it over")
	if s.machines() != "web" {
		t.Fatalf("there is %s", s.machines())
	}
	if _, said, err := s.plugin(bin, "proxplane", "import", vmid, "--yes"); err != nil || !strings.Contains(said, "kubectl annotate --overwrite -n "+s.namespace+" virtualmachine web infra.virtrigaud.io/identity=") {
		t.Errorf("%v: it doesn't say what it does: %s", err, said)
	}
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
	o.Stop()
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

// An operator that runs under another name of its Kubernetes makes nothing a second
// time: it leaves alone what it finds, until somebody says that it takes over.
func TestAnotherClusterNameMakesNoSecondMachines(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone", "--cluster-name", "east")
	s.provide()
	s.apply(machine("web") + pair + snapshot)
	s.waitFor("--for=condition=Ready", "vm/web", "vm/several", "vmsnapshot/before")
	had := machinesIn(s.pve)
	o.Stop()
	o = s.operate("--alone", "--cluster-name", "west")
	for _, name := range []string{"provider/proxmox", "vm/web", "vm/several", "vmsnapshot/before", "vmimage/ubuntu"} {
		s.waits(name, "belongs to the Kubernetes named east, and the operator runs for west")
	}
	s.apply(machine("new")) // what is new is on the same Provider
	s.waits("vm/new", "named east")
	if s.field("provider/proxmox", ".status.clusterName") != "east" || s.field("vm/web", `.status.conditions[?(@.type=="Ready")].reason`) != "Elsewhere" {
		t.Errorf("the Provider says %s", s.field("provider/proxmox", ".status"))
	}
	if diff := cmp.Diff(had, machinesIn(s.pve)); diff != "" {
		t.Fatalf("there is something else now (-before +after):\n%s", diff)
	}
	advice := regexp.MustCompile(`kubectl (annotate .*)$`)
	s.kubectl(strings.Fields(advice.FindStringSubmatch(s.field("vm/web", ".status.waiting"))[1])...)
	s.waitFor("--for=condition=Ready", "provider/proxmox", "vm/web", "vm/several", "vmsnapshot/before", "vm/new")
	s.apply(machine("newer"))
	s.waitFor("--for=condition=Ready", "vm/newer")
	if s.field("provider/proxmox", ".status.clusterName") != "east" {
		t.Errorf("the record was overwritten: %s", s.field("provider/proxmox", ".status"))
	}
	s.kubectl("delete", "vmsnapshot,vm", "--all", "--timeout", patience.String())
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
	o.Stop()
}

// A Provider and its login stay while machines are on it that another cluster name has.
func TestAProviderStaysForTheMachinesOfAnotherClusterName(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone", "--cluster-name", "east")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	o.Stop()
	s.operate("--alone", "--cluster-name", "west")
	s.waits("vm/web", "belongs to the Kubernetes named east")
	s.kubectl("delete", "provider/proxmox", "secret/pve-credentials", "--wait=false")
	s.waits("provider/proxmox", "belongs to the Kubernetes named east")
	s.kubectl("delete", "vm/web", "--wait=false")
	s.kubectl("annotate", "virtrigaud", "--all", "infra.virtrigaud.io/taken-over-by=west")
	s.waitFor("--for=delete", "vm/web", "provider/proxmox")
	if s.machines() != "" {
		t.Errorf("there is still %s", s.machines())
	}
}

// A Kubernetes that objects were restored into without their record finds what they had
// by their UID.
func TestObjectsFindTheirMachinesByTheirUID(t *testing.T) {
	t.Parallel()
	s := begin(t)
	o := s.operate("--alone", "--cluster-name", "east")
	s.provide()
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	vmid := s.field("vm/web", ".status.vmid")
	o.Stop()
	s.kubectl("annotate", "virtrigaud", "--all", "infra.virtrigaud.io/cluster-name-")
	backup := s.kubectl("get", "virtrigaud", "-o", "yaml")
	s.lose("vm/web", "vmimage/ubuntu", "provider/proxmox")
	s.apply(backup)
	s.operate("--alone", "--cluster-name", "west")
	s.waits("vm/web", "VM "+vmid+" on pve. was made for this object by a Kubernetes that is named east, and this one is named west")
	if s.machines() != "web" {
		t.Fatalf("there is %s", s.machines())
	}
	advice := regexp.MustCompile(`kubectl (annotate .*) takes it over`)
	s.kubectl(strings.Fields(advice.FindStringSubmatch(s.field("vm/web", ".status.waiting"))[1])...)
	s.waitFor("--for=condition=Ready", "vm/web")
	if s.field("vm/web", ".status.vmid") != vmid || s.machines() != "web" {
		t.Errorf("it was VM %s, and is VM %s; there is %s", vmid, s.field("vm/web", ".status.vmid"), s.machines())
	}
}

// A machine whose notes and tags somebody has overwritten gets no twin, and one command
// puts the proof back.
func TestAMachineThatLostItsNotesAndTagsGetsNoTwin(t *testing.T) {
	t.Parallel()
	s := begin(t)
	bin := s.plugins()
	o := s.operate("--alone")
	s.provide()
	s.apply(machine("web", "networks: [{name: lan}]") + strings.ReplaceAll(machine("db"), "\n  \n", "\n"))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db")
	for _, name := range []string{"web", "db"} {
		if err := s.pve.Touch(t.Context(), name, "PUT", "/config", pve.Params{"description": "mine", "tags": "mine"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"web", "db"} {
		s.waits("vm/"+name, "notes and tags don.t prove that it is this machine: .*; if it is this machine, put the proof back with kubectl proxplane import")
		if state := s.field("vm/"+name, ".status.state"); state != "unknown" {
			t.Errorf("%s is %s, and it may well be there", name, state)
		}
	}
	if s.machines() != "web db" && s.machines() != "db web" {
		t.Fatalf("there is %s", s.machines())
	}
	// A replica that takes over knows no more than what is written down.
	o.Stop()
	s.operate("--alone")
	for _, name := range []string{"web", "db"} {
		s.does(bin, "proxplane", "import", s.field("vm/"+name, ".status.vmid"), "--yes")
		s.waitFor("--for=condition=Ready", "vm/"+name)
	}
	if s.machines() != "web db" && s.machines() != "db web" {
		t.Errorf("there is %s", s.machines())
	}
}
