package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestAProcessOfAnEarlierMachineIsNotTakenForANewOne(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		time.Sleep(time.Hour)
		l.vm("web", func(s *pvesim.State, vm *pvesim.VM) { s.LoseConfig(vm.ID) })
		rep := l.converge(desired(vm))
		o := outcomeOf(t, rep, "web")
		if o.State != engine.StateWaiting || !strings.Contains(o.Text, "earlier VM, whose config was removed while it ran") {
			t.Errorf("%s%s", describe(rep), l.story())
		}
		if _, err := l.client.VM("pve1", o.VMID).Stop(t.Context(), pve.StopOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		l.mustConverge(desired(vm))
	})
}

func TestAMissingDiskIsFound(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Disks = append(vm.Disks, model.Disk{Slot: "scsi1", Name: "data", Size: 1 << 30, Storage: "nfs"})
		l.mustConverge(desired(vm))
		e := l.engine()
		if p, err := e.Plan(t.Context(), desired(vm)); err != nil || p.Blocked() || p.Steps() > 0 {
			t.Fatalf("%v\n%s", err, p)
		}
		l.vm("web", func(s *pvesim.State, vm *pvesim.VM) { s.LoseDisk(vm, "scsi1") })
		e = l.engine()
		p, err := e.Plan(t.Context(), desired(vm))
		if err != nil || !p.Blocked() || !strings.Contains(p.String(), "scsi1 of VM") {
			t.Errorf("%v\n%s", err, p)
		}
		// Those who carry the plan out know it, too.
		rep, err := e.Converge(t.Context(), desired(vm), l.options())
		if err != nil || rep.Converged() {
			t.Errorf("%v\n%s", err, describe(rep))
		}
	})
}
