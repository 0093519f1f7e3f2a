package engine_test

import (
	"fmt"
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

func TestADiskWithoutAMachineThatBlocksATemplateIsNamed(t *testing.T) {
	url, checksum := library(t)
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Source = model.Source{Image: key("VMImage", "noble")}
		vm.Disks, vm.WaitAddress = nil, false
		want := model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}, VMs: []model.VM{vm}}
		rep := l.mustConverge(want)
		id, template := outcomeOf(t, rep, "web").VMID, outcomeOf(t, rep, "noble").VMID
		l.vm("web", func(s *pvesim.State, vm *pvesim.VM) {
			s.LoseConfig(vm.ID)
			clear(s.Strays)
		})
		want.VMs[0].Deleted, want.Images[0].Deleted = true, true
		rep = l.converge(want)
		o := outcomeOf(t, rep, "noble")
		left := fmt.Sprintf("nfs:%d/base-%[1]d-disk-0.qcow2/%d/vm-%[2]d-disk-0.qcow2", template, id)
		if o.State != engine.StateWaiting || !strings.Contains(o.Text, left) || !strings.Contains(o.Text, "pvesm free") {
			t.Fatalf("the image is told as %s: %s, without %s\n%s", o.State, o.Text, left, l.story())
		}
		if n := len(l.ours()); n != 1 {
			t.Errorf("%d guests are left", n)
		}
		if _, err := l.client.Storage("pve1", "nfs").DeleteVolume(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		l.mustConverge(want)
		if n := len(l.ours()); n != 0 {
			t.Errorf("%d guests are left", n)
		}
	})
}
