package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// twoOfUs has two processes that know nothing of each other make the same so, the
// second one some time after the first.
func (l *lab) twoOfUs(want model.Desired, apart time.Duration) {
	l.t.Helper()
	var both sync.WaitGroup
	for i := range 2 {
		c := l.connect(pve.Token("root@pam!lab", secret))
		both.Go(func() {
			time.Sleep(time.Duration(i) * apart)
			rep, err := engineOf(c).Converge(context.Background(), want, engine.Options{})
			if err != nil || !rep.Converged() {
				l.t.Errorf("%v apart, the %dth: %v\n%s", apart, i+1, err, describe(rep))
			}
		})
	}
	both.Wait()
}

func TestTwoOfUsAtOnceMakeEachMachineOnce(t *testing.T) {
	for _, apart := range []time.Duration{0, time.Millisecond, 7 * time.Millisecond, 100 * time.Millisecond, 2100 * time.Millisecond, 4 * time.Second} {
		inLab(t, labWorld(3), func(t *testing.T, l *lab) {
			want := desired(seeded("web"), machine("db"), machine("cache"))
			l.twoOfUs(want, apart)
			l.check(want)
			if n := len(l.ours()); n != 3 {
				t.Errorf("%v apart: %d machines", apart, n)
			}
		})
	}
}

func TestTwoOfUsAtOnceChangeTakeSnapshotsAndRemove(t *testing.T) {
	for apart := time.Duration(0); apart < 2500*time.Millisecond; apart += 97 * time.Millisecond {
		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			want := desired(seeded("web"), machine("db"))
			l.mustConverge(want)
			want.Allow.Restart = true
			want.VMs[0].Options["memory"], want.VMs[1].Options["cores"] = "8192", "8"
			want.VMs[0].Disks[0].Size = 24 << 30
			for _, name := range []string{"web", "db"} {
				want.Snapshots = append(want.Snapshots, model.Snapshot{
					Owner: owner("VMSnapshot", name+"-warm"), VM: key("VirtualMachine", name), Name: "warm", Memory: true,
				})
			}
			l.twoOfUs(want, apart)
			l.check(want)
			for i := range want.VMs {
				want.VMs[i].Deleted, want.Snapshots[i].Deleted = true, true
			}
			l.twoOfUs(want, apart)
			if left := l.ours(); len(left) > 0 {
				t.Errorf("%v apart: left are %v", apart, left)
			}
		})
	}
}

// While one of us destroys the machine, its config doesn't say whose it was: the
// other one must not make the new machine elsewhere.
func TestTwoOfUsAtOnceReplaceAMachineByOne(t *testing.T) {
	for apart := time.Duration(0); apart < 3*time.Second; apart += 83 * time.Millisecond {
		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			want := desired(machine("web"))
			l.mustConverge(want)
			want.VMs[0].Source = model.Source{Blank: true}
			want.VMs[0].Disks = []model.Disk{{Slot: "scsi0", Name: "root", Storage: "local-lvm", Size: 20 << 30}}
			want.VMs[0].WaitAddress = false
			want.Allow.Replace = true
			l.twoOfUs(want, apart)
			if n := len(l.ours()); n != 1 {
				t.Errorf("%v apart: %d machines", apart, n)
			}
		})
	}
}

// An image is shared by whoever names its template, so the guests of all sets
// matter, also those that nobody has looked at so far.
func TestAnImageGoesThoughThereAreMachinesOfAnotherSet(t *testing.T) {
	url, checksum := library(t)
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		other := desired(machine("theirs"))
		other.Set, other.VMs[0].Owner.Set, other.Images[0].Owner.Set = "other", "other", "other"
		l.mustConverge(other)
		time.Sleep(time.Minute) // the list knows its tags
		want := model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}}
		l.mustConverge(want)
		want.Images[0].Deleted = true
		l.mustConverge(want)
		l.sim.Do(func(s *pvesim.State) {
			if len(s.VMs) != 2 {
				t.Errorf("there should be their machine and the template of the lab: %d guests", len(s.VMs))
			}
		})
	})
}

// Somebody takes a snapshot of the machine just when it is done and ours is next.
// Afterwards nobody knows whether the machine is still up to date.
func TestASnapshotIsTakenThoughSomebodyTouchedTheMachineMeanwhile(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		want := desired(machine("web"))
		want.Snapshots = []model.Snapshot{{Owner: owner("VMSnapshot", "ours"), VM: key("VirtualMachine", "web"), Name: "ours"}}
		l.fault(pvesim.Fault{Path: "/nodes/*/qemu/*/snapshot", Method: "POST", Delay: ms(100), Nth: 1}) // theirs overtakes ours
		var theirs sync.WaitGroup
		opts := l.options()
		tell := opts.Events
		opts.Events = func(e engine.Event) {
			tell(e)
			if e.Kind == engine.Started && e.Owner.Kind == "VMSnapshot" && len(l.snapshots("web")) == 0 {
				theirs.Go(func() { l.somebody("web", "POST", "/snapshot", pve.Params{"snapname": "theirs"}) })
			}
		}
		rep, err := l.engine().Converge(t.Context(), want, opts)
		theirs.Wait()
		if err != nil || !rep.Converged() || len(l.snapshots("web")) != 2 {
			t.Errorf("%v, snapshots %v\n%s%s", err, l.snapshots("web"), describe(rep), l.story())
		}
	})
}
