package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pvesim"
)

// withData is a machine with a data disk on the shared storage.
func withData(name string) model.VM {
	vm := machine(name)
	vm.Disks = append(vm.Disks, model.Disk{Slot: "scsi1", Name: "data", Size: 1 << 30, Storage: "nfs"})
	return vm
}

func TestASessionFindsAMissingDisk(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		s := l.serve(l.client)
		defer s.end()
		s.Want(desired(withData("web"), withData("db")), nil)
		s.await("web", engine.StateReady)
		s.await("db", engine.StateReady)
		time.Sleep(2 * time.Hour)
		var kept map[string]*pvesim.Volume
		nfs := pvesim.SpaceKey{Storage: "nfs"}
		l.vm("web", func(st *pvesim.State, vm *pvesim.VM) {
			kept = maps.Clone(st.Spaces[nfs].Volumes)
			if !st.LoseDisk(vm, "scsi1") {
				t.Fatal("there is no disk to lose")
			}
		})
		time.Sleep(65 * time.Minute)
		web := s.of("web")
		if web.State != engine.StateWaiting || !strings.Contains(web.Text, fmt.Sprintf("scsi1 of VM %d is missing: storage nfs has no nfs:%[1]d/vm-%[1]d-disk-0.qcow2; put it back from a backup", web.VMID)) {
			t.Errorf("web is told as %s: %s", web.State, web.Text)
		}
		if db := s.of("db"); db.State != engine.StateReady {
			t.Errorf("db is told as %s: %s", db.State, db.Text)
		}
		// It stays so, whatever somebody changes meanwhile.
		l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) { vm.Conf["tags"] += ";mine" })
		time.Sleep(3 * time.Hour)
		if web := s.of("web"); web.State != engine.StateWaiting {
			t.Errorf("web is told as %s: %s", web.State, web.Text)
		}
		l.vm("web", func(st *pvesim.State, _ *pvesim.VM) { st.Spaces[nfs].Volumes = kept })
		time.Sleep(15 * time.Minute)
		if web := s.of("web"); web.State != engine.StateReady {
			t.Errorf("with its disk back web is told as %s: %s", web.State, web.Text)
		}
	})
}

// Proxmox starts no machine whose drive holds a file that isn't there, so that first-boot data that somebody has
// removed are uploaded again.
func TestFirstBootDataThatSomebodyHasRemovedAreUploadedAgain(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(seeded("web"), seeded("db"))
		l.mustConverge(want)
		lose := func(when string) {
			l.vm("web", func(st *pvesim.State, vm *pvesim.VM) {
				for slot, value := range vm.Conf {
					if strings.Contains(value, ":iso/") && slot != "description" && st.LoseDisk(vm, slot) {
						return
					}
				}
				t.Errorf("%s there are no first-boot data", when)
			})
		}
		lose("when it was made")
		e := l.engine()
		p, err := e.Plan(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range p.Objects {
			switch {
			case o.Owner.Name == "web" && (len(o.Steps) != 1 || o.Steps[0].What != "upload its first-boot data" || o.Steps[0].Effect != plan.Live || !strings.Contains(o.Steps[0].Why, "storage local doesn't have it any more")):
				t.Errorf("the plan for web is\n%+v", o)
			case o.Owner.Name == "db" && !o.Unchanged():
				t.Errorf("the plan for db is\n%+v", o)
			}
		}
		if rep, err := e.Converge(t.Context(), want, l.options()); err != nil || !rep.Converged() {
			t.Fatalf("not converged: %v\n%s", err, describe(rep))
		}
		if p, err = e.Plan(t.Context(), want); err != nil || !p.Unchanged() {
			t.Errorf("afterwards: %v\n%s", err, p)
		}
		s := l.serve(l.client)
		defer s.end()
		s.Want(want, nil)
		s.await("web", engine.StateReady)
		time.Sleep(2 * time.Hour)
		lose("after the first time")
		time.Sleep(2 * time.Hour)
		if web := s.of("web"); web.State != engine.StateReady {
			t.Errorf("web is told as %s: %s", web.State, web.Text)
		}
		lose("after the second time")
	})
}

func TestAStorageThatLosesEverythingIsNoUnboundedLoad(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		const n = 70
		var vms []model.VM
		for i := range n {
			vm := withData(fmt.Sprintf("web-%d", i))
			vm.WaitAddress = false
			vms = append(vms, vm)
		}
		want := desired(vms...)
		l.mustConverge(want)
		s := l.serve(l.client)
		defer s.end()
		s.Want(want, nil)
		for _, v := range vms {
			s.await(v.Name, engine.StateReady)
		}
		time.Sleep(10 * time.Minute)
		l.vm("web-0", func(st *pvesim.State, _ *pvesim.VM) {
			clear(st.Spaces[pvesim.SpaceKey{Storage: "nfs"}].Volumes)
		})
		var most []string
		for range 90 {
			before := l.sim.RequestCount()
			time.Sleep(time.Minute)
			if got := l.requests(before); len(got) > len(most) {
				most = got
			}
		}
		if len(most) > 60 {
			slices.Sort(most)
			t.Errorf("%d requests in a minute: %q", len(most), most)
		}
		for _, v := range vms {
			if now := s.of(v.Name); now.State != engine.StateWaiting {
				t.Errorf("%s is told as %s: %s", v.Name, now.State, now.Text)
			}
		}
	})
}
