package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// deaf is a machine without a system: nothing in it hears when it is to shut down.
func deaf(name string) model.VM {
	vm := machine(name)
	vm.Source = model.Source{Blank: true}
	vm.Disks = []model.Disk{{Slot: "scsi0", Name: "root", Size: 1 << 30, Storage: "nfs"}}
	vm.WaitAddress = false
	delete(vm.Options, "ciuser")
	vm.Managed = []string{"cores", "memory"}
	return vm
}

// asked is how often a machine was asked for something.
func (l *lab) asked(path string) int {
	return len(slices.DeleteFunc(l.requests(0), func(r string) bool { return !strings.HasSuffix(r, path) }))
}

func outcomeOf(t *testing.T, rep engine.Report, name string) engine.Outcome {
	t.Helper()
	i := slices.IndexFunc(rep.Objects, func(o engine.Outcome) bool { return o.Owner.Name == name })
	if i < 0 {
		t.Fatalf("nothing is told of %s", name)
	}
	return rep.Objects[i]
}

func TestGuestsThatIgnoreTheirShutdownAreNotAskedWithoutEnd(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := deaf("web")
		l.mustConverge(desired(vm))
		vm.Options["memory"], vm.Update.Restart, vm.ShutdownTimeout = "8192", true, 30*time.Second
		begun := time.Now()
		rep := l.converge(desired(vm))
		if o := outcomeOf(t, rep, "web"); o.State != engine.StateRefused || !strings.Contains(o.Text, "ignored the shutdown") || o.Do.Do != model.AllowStop {
			t.Errorf("%s", describe(rep))
		}
		if n := l.asked("/status/reboot"); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("it took %s", took)
		}
		if l.named("web")["running"] != "1" {
			t.Error("it doesn't run any more")
		}
		// Who may pull the plug does.
		vm.Update.Stop = true
		l.mustConverge(desired(vm))
		if conf := l.named("web"); conf["running"] != "1" || conf["memory"] != "8192" {
			t.Errorf("it is %v", conf)
		}
	})
}

// The operator, too, doesn't go on pressing the button.
func TestSessionsDoNotAskDeafGuestsAgain(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := deaf("web")
		l.mustConverge(desired(vm))
		vm.Options["memory"], vm.Update.Restart, vm.ShutdownTimeout = "8192", true, 30*time.Second
		s := l.serve(l.client)
		defer s.end()
		s.Want(desired(vm), nil)
		s.await("web", engine.StateRefused)
		time.Sleep(6 * time.Hour)
		if n := l.asked("/status/reboot"); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
	})
}

func TestADeletionDoesNotWaitForAGuestToShutDown(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := deaf("web")
		id := l.mustConverge(desired(vm)).Objects[1].VMID
		if _, err := l.client.VM("pve1", id).Reboot(t.Context(), pve.RebootOptions{Timeout: time.Hour}); err != nil {
			t.Fatal(err)
		}
		vm.Deleted = true
		opts := l.options()
		opts.Patience = 20 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		rep, err := l.engine().Converge(ctx, desired(vm), opts)
		if err != nil || !rep.Converged() || len(l.ours()) > 0 {
			t.Errorf("%v\n%s%s", err, describe(rep), l.story())
		}
	})
}

func TestPausedMachinesAreNotOn(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		id := l.mustConverge(desired(vm)).Objects[1].VMID
		if _, err := l.client.VM("pve1", id).Suspend(t.Context(), pve.SuspendOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		observer := observe.New(l.client)
		if err := observer.Refresh(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := observer.Status(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		rep, err := engine.New(observer, act.New(l.client)).Converge(t.Context(), desired(vm), l.options())
		if err != nil || !rep.Converged() {
			t.Fatalf("%v\n%s", err, describe(rep))
		}
		l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) {
			if vm.Run == nil || !vm.Run.Paused.IsZero() {
				t.Error("it is still paused")
			}
		})
	})
}

// Proxmox starts a guest that is suspended to disk in spite of its lock. To take the lock away would lose what the guest had in memory.
func TestMachinesThatAreSuspendedToDiskAreResumed(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		id := l.mustConverge(desired(vm)).Objects[1].VMID
		sleep := func() {
			t.Helper()
			upid, err := l.client.VM("pve1", id).Suspend(t.Context(), pve.SuspendOptions{ToDisk: true})
			if err == nil {
				_, err = l.client.Task(upid).Wait(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(15 * time.Second)
		}
		sleep()
		vm.Description = "changed"
		rep := l.mustConverge(desired(vm))
		l.vm("web", func(_ *pvesim.State, vm *pvesim.VM) {
			if vm.Run == nil || vm.Conf["lock"] != "" || vm.Conf["vmstate"] != "" || !strings.Contains(vm.Conf["description"], "changed") {
				t.Errorf("it is %v\n%s", vm.Conf, describe(rep))
			}
		})
		// What is to be off is off, and can't be changed meanwhile.
		sleep()
		vm.Power = model.PowerOff
		l.mustConverge(desired(vm))
		vm.Description = "changed again"
		opts := l.options()
		opts.Patience = 20 * time.Second
		rep, err := l.engine().Converge(t.Context(), desired(vm), opts)
		if o := outcomeOf(t, rep, "web"); err != nil || o.State != engine.StateWaiting || !strings.Contains(o.Text, "suspended to disk") || strings.Contains(o.Text, "unlock") {
			t.Errorf("%v\n%s", err, describe(rep))
		}
		vm.Deleted = true
		l.mustConverge(desired(vm))
		if n := len(l.ours()); n > 0 {
			t.Errorf("%d are left", n)
		}
	})
}

func TestAFailedHotplugIsPending(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := deaf("web")
		vm.Options["hotplug"], vm.Options["vcpus"], vm.Managed = "network,disk,usb,cpu", "4", append(vm.Managed, "hotplug", "vcpus")
		l.mustConverge(desired(vm))
		vm.Options["vcpus"] = "2" // a guest without a system doesn't let go of a CPU
		rep := l.converge(desired(vm))
		if o := outcomeOf(t, rep, "web"); o.State != engine.StateRefused || !strings.Contains(o.Text, "vcpus is applied at a restart only") {
			t.Errorf("%s%s", describe(rep), l.story())
		}
		for _, e := range l.events {
			if e.Kind == engine.Failed && !strings.Contains(e.Hint.String(), "pending") {
				t.Errorf("%s: %s", e.Text, e.Hint)
			}
		}
		vm.Update.Restart, vm.Update.Stop = true, true
		l.mustConverge(desired(vm))
		if conf := l.named("web"); conf["vcpus"] != "2" {
			t.Errorf("it is %v", conf)
		}
	})
}
