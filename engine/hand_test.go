package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// mailWorld has a guest that is nobody's of us.
func mailWorld() *pvesim.World {
	w := labWorld(1)
	w.Guests = append(w.Guests, pvesim.WorldGuest{
		ID: 500, Node: "pve1", System: pvesim.WithAgent,
		Config: map[string]string{"name": "mail", "ostype": "l26", "memory": "512", "scsihw": "virtio-scsi-pci", "scsi0": "local-lvm:8", "boot": "order=scsi0"},
	})
	return w
}

var mail = model.Guest{VMID: 500, Node: "pve1", Name: "mail"}

func TestAPersonCanWorkOnAnyGuestByItsName(t *testing.T) {
	inLab(t, mailWorld(), func(t *testing.T, l *lab) {
		hand, at := l.engine().ByHand(t.Context()), model.Target{VMID: 500, Node: "pve1"}
		state := func() (on bool, snapshots int) {
			l.vm("mail", func(_ *pvesim.State, vm *pvesim.VM) { on, snapshots = vm.Run != nil, len(vm.Snaps) })
			return on, snapshots
		}
		for _, c := range []struct {
			do        model.Action
			on        bool
			snapshots int
		}{
			{model.Snap{Target: at, Name: "clean"}, false, 1},
			{model.Start{Target: at}, true, 1},
			{model.Reboot{Target: at}, true, 1},
			{model.Rollback{Target: at, Name: "clean"}, false, 1},
			{model.Unsnap{Target: at, Name: "clean"}, false, 0},
			{model.Start{Target: at}, true, 0},
			{model.Shutdown{Target: at}, false, 0},
			{model.Start{Target: at}, true, 0},
			{model.Stop{Target: at}, false, 0},
		} {
			if err := hand.Do(t.Context(), &mail, c.do); err != nil {
				t.Fatalf("%s: %v", act.Words(c.do), err)
			}
			time.Sleep(time.Minute) // a reboot's task ends before the guest runs again
			if on, n := state(); on != c.on || n != c.snapshots {
				t.Errorf("%s: running is %v, and there are %d snapshots", act.Words(c.do), on, n)
			}
		}
	})
}

// Proxmox uses VMIDs again: what a person has named by its name isn't what has its VMID now.
func TestAGuestThatHasBecomeAnotherOneIsLeftAloneByHand(t *testing.T) {
	inLab(t, mailWorld(), func(t *testing.T, l *lab) {
		hand, at := l.engine().ByHand(t.Context()), model.Target{VMID: 500, Node: "pve1"}
		if err := hand.Do(t.Context(), &mail, model.Snap{Target: at, Name: "clean"}); err != nil {
			t.Fatal(err)
		}
		if err := hand.Do(t.Context(), &mail, model.Start{Target: at}); err != nil {
			t.Fatal(err)
		}
		l.setConfig("mail", "name", "bank")
		for _, do := range []model.Action{
			model.Stop{Target: at}, model.Shutdown{Target: at}, model.Reboot{Target: at}, model.Snap{Target: at, Name: "second"},
			model.Rollback{Target: at, Name: "clean"}, model.Unsnap{Target: at, Name: "clean"},
		} {
			if err := hand.Do(t.Context(), &mail, do); !errors.Is(err, act.ErrAnother) {
				t.Errorf("%s: %v", act.Words(do), err)
			}
		}
		l.vm("bank", func(_ *pvesim.State, vm *pvesim.VM) {
			if vm.Run == nil || len(vm.Snaps) != 1 {
				t.Errorf("running is %v, and there are %d snapshots", vm.Run != nil, len(vm.Snaps))
			}
		})
	})
}

func TestNothingElseIsDoneByHand(t *testing.T) {
	inLab(t, mailWorld(), func(t *testing.T, l *lab) {
		hand, at := l.engine().ByHand(t.Context()), model.Target{VMID: 500, Node: "pve1"}
		before := l.sim.RequestCount()
		for _, do := range []model.Action{
			model.Destroy{Target: at}, model.Migrate{Target: at, To: "pve2"}, model.MakeTemplate{Target: at},
			model.Resize{Target: at, Slot: "scsi0", Size: 9 << 30}, model.RemoveFile{Node: "pve1", Volume: "local:iso/x.iso"},
		} {
			if err := hand.Do(t.Context(), &mail, do); !errors.Is(err, act.ErrNotByHand) {
				t.Errorf("%s: %v", act.Words(do), err)
			}
		}
		if err := hand.Do(t.Context(), &mail, model.Configure{Target: at, Delete: []string{"scsi0"}}); !errors.Is(err, act.ErrNoDigest) {
			t.Errorf("a config is changed by hand as it was read only: %v", err)
		}
		if n := l.sim.RequestCount(); n != before {
			t.Errorf("Proxmox was asked: %v", l.requests(before))
		}
		err := hand.Do(t.Context(), &model.Guest{VMID: 501, Node: "pve1", Name: "mail"}, model.Start{Target: model.Target{VMID: 501, Node: "pve1"}})
		if !errors.Is(err, pve.ErrNotFound) {
			t.Errorf("a guest that isn't there: %v", err)
		}
	})
}

// A person who names a machine of a manifest means the one that is the manifest's: a namesake under its VMID isn't.
func TestAGuestThatIsNoLongerItsOwnersIsLeftAloneByHand(t *testing.T) {
	inLab(t, mailWorld(), func(t *testing.T, l *lab) {
		owner := model.Owner{Door: "vm", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: "mail"}}
		l.setConfig("mail", "description", model.Describe("", model.Marker{Owner: owner, VMID: 500}))
		hand, at := l.engine().ByHand(t.Context()), model.Target{VMID: 500, Node: "pve1"}
		ours := mail
		ours.Config = &model.Config{Marker: &model.Marker{Owner: owner, VMID: 500}}
		if err := hand.Do(t.Context(), &ours, model.Start{Target: at}); err != nil {
			t.Fatal(err)
		}
		l.setConfig("mail", "description", "made anew by hand")
		if err := hand.Do(t.Context(), &ours, model.Stop{Target: at}); !errors.Is(err, act.ErrAnother) {
			t.Errorf("it isn't its owner's any more: %v", err)
		}
		if err := hand.Do(t.Context(), &mail, model.Stop{Target: at}); err != nil {
			t.Errorf("a person who names it by its name alone: %v", err)
		}
	})
}
