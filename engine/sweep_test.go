package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// Who is stopped while disks are still to be removed is told which: nothing in
// Proxmox names them any more.
func TestDisksThatAreLeftWhenWeAreStoppedAreNamed(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		l.fault(pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/*", Hold: "storage:local-lvm", For: ms(10 * 60_000)})
		vm.Deleted = true
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var said []string
		opts := l.options()
		opts.Events = func(e engine.Event) {
			if e.Kind == engine.Failed && e.Action == "RemoveDisk" && strings.HasPrefix(e.Text, "stopped") {
				said = append(said, e.Text)
			}
		}
		if _, err := l.engine().Converge(ctx, desired(vm), opts); err == nil {
			t.Fatal("it wasn't stopped")
		}
		if len(l.ours()) > 0 || len(said) != 1 || !strings.Contains(said[0], "local-lvm:vm-") {
			t.Errorf("machines %v, said %q", l.ours(), said)
		}
	})
}

// While Proxmox can't get the lock of the old storage, it leaves the old volume of a disk that it
// has moved, and says that all is well.
func TestTheOldVolumeOfAMovedDiskGoes(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Disks = append(vm.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local-lvm", Size: 1 << 30})
		l.mustConverge(desired(vm))
		l.fault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/move_disk", Hold: "storage:local-lvm", For: ms(2 * 60_000)})
		vm.Disks = slices.Clone(vm.Disks)
		vm.Disks[len(vm.Disks)-1].Storage = "nfs"
		l.mustConverge(desired(vm))
		var disks []string
		left := false
		l.sim.Do(func(s *pvesim.State) {
			for key, sp := range s.Spaces {
				for _, v := range sp.Volumes {
					if v.VMID > 0 && v.VMID < 9000 && v.Size == 1<<30 {
						disks = append(disks, key.Storage)
					}
				}
			}
			for _, list := range s.Tasks {
				for _, t := range list {
					left = left || t.Type == "qmmove" && strings.Contains(strings.Join(t.Log, "\n"), "got timeout")
				}
			}
		})
		if !slices.Equal(disks, []string{"nfs"}) || !left {
			t.Errorf("the disk is on %v; left by Proxmox at first: %t", disks, left)
		}
	})
}
