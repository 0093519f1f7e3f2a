package operator_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// A machine whose disk is gone from its storage says which file is missing; one whose disks
// are there stays Ready.
func TestAMachineThatLacksADiskSaysWhichFile(t *testing.T) {
	t.Parallel()
	s := begin(t)
	first := s.operate("--alone")
	s.provide()
	s.apply(machine("web"))
	s.apply(machine("db"))
	s.waitFor("--for=condition=Ready", "vm/web", "vm/db")
	// An operator that begins asks the storages soon; one that rests does so once an hour.
	first.Stop()
	kept := map[pvesim.SpaceKey]map[string]*pvesim.Volume{}
	s.vm("web", func(st *pvesim.State, vm *pvesim.VM) {
		for key, space := range st.Spaces {
			kept[key] = maps.Clone(space.Volumes)
		}
		if !st.LoseDisk(vm, "scsi0") {
			t.Error("there is no disk to lose")
		}
	})
	second := s.operate("--alone")
	ready := func(object, field string) string {
		return s.field(object, `.status.conditions[?(@.type=="Ready")].`+field)
	}
	s.until("web says that a disk is missing", func() bool { return ready("vm/web", "reason") == "DiskMissing" })
	s.waits("vm/web", `^scsi0 of VM \d+ is missing: storage \S+ has no \S+; put it back from a backup`)
	if status := ready("vm/web", "status"); status != "False" {
		t.Errorf("Ready is %s", status)
	}
	if status, text := ready("vm/db", "status"), s.field("vm/db", ".status.waiting"); status != "True" {
		t.Errorf("db is Ready: %s, %s", status, text)
	}
	for _, want := range []string{"DiskMissing", "scsi0 of VM"} {
		if said := s.kubectl("describe", "vm", "web"); !strings.Contains(said, want) {
			t.Errorf("kubectl describe doesn't say %s:\n%s", want, said)
		}
	}
	// Somebody puts it back.
	second.Stop()
	s.pve.Do(func(st *pvesim.State) {
		for key, volumes := range kept {
			st.Spaces[key].Volumes = volumes
		}
	})
	s.operate("--alone")
	s.waitFor("--for=condition=Ready", "vm/web")
}
