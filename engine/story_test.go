package engine_test

import (
	"context"
	"maps"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

func TestDeletingLeavesNothingBehind(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		vms := []model.VM{seeded("web"), machine("db"), machine("lb")}
		vms[1].Disks = append(vms[1].Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "nfs", Size: 3 << 30})
		vms[2].HA = &model.HA{MaxRestart: 2}
		vms[2].WaitAddress = false
		vms[1].Pool = "team"
		l.mustConverge(desired(vms...))
		l.check(desired(vms...))
		l.sim.Do(func(s *pvesim.State) {
			if len(s.HA.Resources) != 1 || len(s.Pools["team"].VMs) != 1 {
				t.Errorf("HA has %v, the pool %v", s.HA.Resources, s.Pools["team"].VMs)
			}
		})
		for i := range vms {
			vms[i].Deleted = true
		}
		rep := l.mustConverge(desired(vms...))
		for _, o := range rep.Objects[1:] {
			if o.State != engine.StateGone {
				t.Errorf("%s is %s", o.Owner.Key, o.State)
			}
		}
		l.check(desired(vms...))
		if n := len(l.ours()); n != 0 {
			t.Errorf("%d machines are left", n)
		}
		l.sim.Do(func(s *pvesim.State) {
			if len(s.HA.Resources) != 0 || len(s.Pools["team"].VMs) != 0 {
				t.Errorf("HA has %v, the pool %v", s.HA.Resources, s.Pools["team"].VMs)
			}
		})
	})
}

func TestMachinesLeaveThePoolThatTheirManifestNoLongerNames(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		ours, theirs := machine("web"), machine("db")
		ours.Pool = "team"
		l.mustConverge(desired(ours, theirs))
		in := func(name string) (in bool) {
			l.vm(name, func(s *pvesim.State, vm *pvesim.VM) { in = s.Pools["team"].VMs[vm.ID] })
			return in
		}
		l.vm("db", func(s *pvesim.State, vm *pvesim.VM) { s.Pools["team"].VMs[vm.ID] = true }) // by hand
		if !in("web") {
			t.Fatal("it isn't in the pool")
		}
		ours.Pool = ""
		l.mustConverge(desired(ours, theirs))
		l.check(desired(ours, theirs))
		if in("web") || !in("db") {
			t.Errorf("ours is in the pool: %v; the one that was put there by hand: %v", in("web"), in("db"))
		}
	})
}

func TestRetainedMachinesStayWithoutOurMarks(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		vm.Deleted, vm.Retain = true, true
		l.mustConverge(desired(vm))
		conf := l.named("web")
		if conf == nil || conf["running"] != "1" || conf["tags"] != "web" || conf["description"] != "made by a test" {
			t.Errorf("%v", conf)
		}
	})
}

func TestPruneRemovesWhatNoManifestNamesAndNothingElse(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		l.mustConverge(desired(machines(4)...))
		other := machine("other")
		other.Owner.Set = "another"
		l.mustConverge(model.Desired{Set: "another", Images: []model.Image{ubuntu()}, VMs: []model.VM{other}})
		want := desired(machines(2)...)
		want.Prune = true
		l.mustConverge(want)
		l.check(desired(machines(2)...))
		if n := len(l.ours()); n != 3 || l.named("other") == nil {
			t.Errorf("%d machines are left, the other set's is %v", n, l.named("other"))
		}
	})
}

func TestPruneReleasesRetainedMachines(t *testing.T) {
	for reason, fault := range map[string]*pvesim.Fault{
		"at once":                   nil,
		"when it is tried again":    {Method: "PUT", Path: "/nodes/*/qemu/*/config", Status: 500, Reason: "unexpected end of things", Times: 1},
		"when the answer was lost":  {Method: "PUT", Path: "/nodes/*/qemu/*/config", Drop: "after", Times: 1},
		"when its node was away":    {Method: "PUT", Path: "/nodes/*/qemu/*/config", Status: 595, Times: 1},
		"when it was locked before": {Method: "PUT", Path: "/nodes/*/qemu/*/config", Status: 500, Reason: "VM is locked (backup)", Times: 1},
	} {
		t.Run(reason, func(t *testing.T) {
			inLab(t, labWorld(1), func(t *testing.T, l *lab) {
				vm := machine("web")
				vm.Retain = true
				l.mustConverge(desired(vm))
				if fault != nil {
					if _, err := l.sim.AddFault(*fault); err != nil {
						t.Fatal(err)
					}
				}
				none := desired()
				none.Prune = true
				l.mustConverge(none)
				conf := l.named("web")
				if conf == nil || conf["running"] != "1" || conf["tags"] != "web" || conf["description"] != "made by a test" {
					t.Errorf("%v\n%s", conf, l.story())
				}
			})
		})
	}
}

func TestRestartsOnlyWhenAllowed(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		started := l.started("web")
		vm.Options["cores"] = "8"
		vm.Tags = []string{"blue"}
		rep := l.converge(desired(vm))
		if o := rep.Objects[1]; o.State != engine.StateRefused || o.Do.Do != model.AllowRestart {
			t.Errorf("%s", describe(rep))
		}
		if !l.started("web").Equal(started) || !strings.Contains(l.named("web")["tags"], "blue") {
			t.Error("it was restarted, or what needs no restart wasn't done")
		}
		want := desired(vm)
		want.Allow.Restart = true
		l.mustConverge(want)
		l.check(want)
		if l.started("web").Equal(started) {
			t.Error("it wasn't restarted")
		}
	})
}

// started is when a machine was started.
func (l *lab) started(name string) (at time.Time) {
	l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) {
		if vm.Run != nil {
			at = vm.Run.Started
		}
	})
	return at
}

func TestShrinkingIsRefused(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		l.mustConverge(desired(vm))
		vm.Disks[0].Size = 10 << 30
		rep := l.converge(desired(vm))
		if o := rep.Objects[1]; o.State != engine.StateRefused || !strings.Contains(o.Text, "shrink") {
			t.Errorf("%s", describe(rep))
		}
	})
}

func TestPowersMachinesOffAndOn(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		for _, power := range []model.Power{model.PowerOff, model.PowerOn, model.PowerOffGraceful, model.PowerOn} {
			vm.Power = power
			l.mustConverge(desired(vm))
			if running := l.named("web")["running"] == "1"; running != (power == model.PowerOn) {
				t.Errorf("%s: runs %v", power, running)
			}
		}
	})
}

func TestTakesSnapshotsGoesBackOnceAndKeepsTheNewest(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		snap := func(name string) model.Snapshot {
			return model.Snapshot{Owner: owner("VMSnapshot", name), VM: key("VirtualMachine", "web"), Name: name, Description: "before " + name}
		}
		want.Snapshots = []model.Snapshot{snap("one")}
		l.mustConverge(want)
		want.Snapshots = append(want.Snapshots, snap("two"))
		l.mustConverge(want)
		if got := l.snapshots("web"); len(got) != 2 {
			t.Fatalf("snapshots are %v", got)
		}
		want.Snapshots[0].Revert = "first time"
		want.Allow.Data = true
		l.mustConverge(want)
		rollbacks := func() (n int) {
			for _, r := range l.requests(0) {
				if strings.HasSuffix(r, "/rollback") {
					n++
				}
			}
			return n
		}
		l.mustConverge(want)
		if n := rollbacks(); n != 1 {
			t.Errorf("it went back %d times", n)
		}
		if l.named("web")["running"] != "1" {
			t.Error("it isn't running again")
		}
		want.Snapshots[1].Deleted = true
		l.mustConverge(want)
		if got := l.snapshots("web"); len(got) != 1 || got[0] != "one" {
			t.Errorf("snapshots are %v", got)
		}
	})
}

// Other first-boot data has taken the place of those that the machine had in a drive when the snapshot was taken. If somebody has removed
// the file, Proxmox has rolled back the disks and the config, and stopped the machine, when it finds that out.
func TestAMachineIsPutRightAfterARollbackThatFails(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(seedOf("web", "#cloud-config\nhostname: one\n"))
		want.Allow.Data = true
		want.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "warm"), VM: key("VirtualMachine", "web"), Name: "warm", Memory: true}}
		l.mustConverge(want)
		first := path.Base(strings.Split(l.named("web")["ide0"], ",")[0])
		want.VMs[0] = seedOf("web", "#cloud-config\nhostname: two\n")
		l.mustConverge(want)
		want.Snapshots[0].Revert = "once"
		l.mustConverge(want)
		if strings.Contains(l.story(), "failed") || l.named("web")["running"] != "1" {
			t.Errorf("it doesn't go back to a snapshot that has earlier first-boot data:\n%s", l.story())
		}
		l.check(want)
		l.sim.Do(func(s *pvesim.State) {
			for _, space := range s.Spaces {
				maps.DeleteFunc(space.Volumes, func(name string, _ *pvesim.Volume) bool { return name == "iso/"+first })
			}
		})
		want.Snapshots[0].Revert = "twice"
		l.mustConverge(want)
		if !strings.Contains(l.story(), "iso' does not exist") {
			t.Errorf("the rollback hasn't failed:\n%s", l.story())
		}
		if l.named("web")["running"] != "1" {
			t.Errorf("it isn't running again:\n%s", l.story())
		}
		l.check(want)
	})
}

func (l *lab) snapshots(name string) (names []string) {
	l.vm(name, func(_ *pvesim.State, vm *pvesim.VM) {
		for s := range vm.Snaps {
			names = append(names, s)
		}
	})
	return names
}

func TestClonesMachinesThatAreBeingMade(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		base, clone := machine("base"), machine("copy")
		base.Power, base.WaitAddress = model.PowerOff, false
		clone.Source, clone.Disks = model.Source{VM: base.Owner.Key}, nil
		want := desired(clone, base)
		l.mustConverge(want)
		l.check(want)
		// The source's disk grows after it was cloned itself.
		if conf := l.named("copy"); !strings.Contains(conf["scsi0"], "size=20G") {
			t.Errorf("it was copied before its source was up to date: %v\n%s", conf, l.story())
		}
	})
}

func TestWaitsWithAReasonWhenThereIsNoTemplate(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		want.Images[0].Template = "debian"
		start := time.Now()
		rep := l.converge(want)
		if rep.Converged() || time.Since(start) > time.Second || !strings.Contains(describe(rep), `no template is named "debian"`) {
			t.Errorf("after %v:\n%s", time.Since(start), describe(rep))
		}
	})
}

func TestPlansOfUnchangedMachinesTakeARequestEachOrThreeInAll(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		want := desired(machines(30)...)
		l.mustConverge(want)
		time.Sleep(time.Minute)
		for _, quick := range []bool{false, true} {
			want.Quick = quick
			before := l.sim.RequestCount()
			p, err := l.engine().Plan(context.Background(), want)
			if err != nil || !p.Unchanged() {
				t.Errorf("%v\n%s", err, p)
			}
			switch n := l.sim.RequestCount() - before; {
			case quick && n != 3:
				t.Errorf("%d requests for a quick look", n)
			case !quick && (n < 33 || n > 34+3*6+7):
				t.Errorf("%d requests, which should be the lists, one for each config, one for the disks of each storage, one for the older tasks and few for the power states of each node", n)
			}
		}
		want.Quick = false
		l.setConfig("web-3", "cores", "1")
		if p, err := l.engine().Plan(context.Background(), want); err != nil || p.Unchanged() {
			t.Errorf("the plan doesn't see the change: %v", err)
		}
	})
}

// Somebody's copy of a machine has its tags: which of the two is meant is known
// only when the copy was looked at.
func TestPlansReadConfigsBesideACopyToo(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		l.mustConverge(want)
		l.vm("web", func(s *pvesim.State, vm *pvesim.VM) {
			twin := &pvesim.VM{ID: 777, Node: vm.Node, Conf: maps.Clone(vm.Conf), Pending: pvesim.Conf{}, Snaps: map[string]*pvesim.Snap{}}
			twin.Conf["name"] = "copy"
			s.VMs[777] = twin
		})
		l.setConfig("web", "ciuser", "bob") // no list shows it
		time.Sleep(time.Minute)
		if p, err := l.engine().Plan(context.Background(), want); err != nil || p.Unchanged() {
			t.Errorf("the plan doesn't see the change: %v", err)
		}
	})
}

// A snapshot that fails leaves doubts about its machine, for which nothing more can
// be done: the next one looks for itself.
func TestASnapshotIsTriedThoughAnotherOfARefusedMachineHasFailed(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Disks = append(vm.Disks, model.Disk{Slot: "scsi1", Name: "data", Storage: "local", Size: 1 << 30, Format: "raw"})
		want := desired(vm)
		l.mustConverge(want)
		want.VMs[0].Disks = vm.Disks[:1] // which nobody has agreed to
		for _, name := range []string{"one", "two"} {
			want.Snapshots = append(want.Snapshots, model.Snapshot{Owner: owner("VMSnapshot", name), VM: vm.Owner.Key, Name: name})
		}
		for _, o := range l.converge(want).Objects[2:] {
			if o.State != engine.StateFailed || !strings.Contains(o.Text, "snapshot feature is not available") {
				t.Errorf("%s is %s: %s", o.Owner.Key, o.State, o.Text)
			}
		}
	})
}

func TestReportsTellHowMachinesWereWhenListsAreLate(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		early, held := machine("early"), machine("held")
		l.mustConverge(desired(held))
		l.vm("held", func(_ *pvesim.State, vm *pvesim.VM) { vm.Conf["lock"] = "backup" })
		// Lists are asked for until then. Somebody else starts early, which casts doubts on them.
		time.AfterFunc(18*time.Second, func() {
			l.vm("held", func(_ *pvesim.State, vm *pvesim.VM) { delete(vm.Conf, "lock") })
		})
		held.Tags, early.HA = []string{"blue"}, &model.HA{}
		rep := l.mustConverge(desired(early, held))
		if o := rep.Objects[1]; o.Status != model.StatusRunning || len(o.Addresses) == 0 {
			t.Errorf("it is %s with %v\n%s", o.Status, o.Addresses, l.story())
		}
	})
}

func TestReportsTellHowMachinesAreThatDidNotStart(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		lost := machine("lost")
		l.fault(pvesim.Fault{Task: "qmstart", Error: "bridge 'vmbr1' does not exist", Mode: "instead"})
		if o := l.converge(desired(lost)).Objects[1]; o.State != engine.StateFailed || o.Status != model.StatusStopped {
			t.Errorf("it is %s, and its guest %s\n%s", o.State, o.Status, l.story())
		}
	})
}

func TestWaitsAreToldAnewWhenTheyAreForSomethingElse(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		first, copied := machine("first"), machine("copy")
		copied.Source = model.Source{VM: first.Owner.Key}
		copied.NICs, copied.Disks = nil, nil
		l.mustConverge(desired(first, copied))
		var waits []string
		for _, e := range l.events {
			if e.Kind == engine.Waiting && e.Owner.Name == "copy" && e.Reason == model.WaitSource {
				waits = append(waits, e.Text)
			}
		}
		if len(waits) != 2 || !strings.HasSuffix(waits[0], "isn't there yet") || !strings.HasSuffix(waits[1], "isn't up to date yet") {
			t.Errorf("it waits for %q", waits)
		}
	})
}
