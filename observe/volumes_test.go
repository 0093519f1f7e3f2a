package observe_test

import (
	"slices"
	"testing"
	"time"

	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestADiskThatItsStorageDoesNotHaveIsMissing(t *testing.T) {
	inLab(t, world(3), func(t *testing.T, l *lab) {
		o := l.knows(100, 101, 102)
		l.lose(101)
		l.must(o.Volumes(t.Context()))
		for id, g := range o.Snapshot().Guests {
			if want := id == 101; slices.Contains(g.Missing, "scsi0") != want || len(g.Missing) > 1 {
				t.Errorf("VM %d lacks %v", id, g.Missing)
			}
		}
	})
}

func TestADiskThatWasMovedSinceTheConfigWasReadIsNotMissing(t *testing.T) {
	inLab(t, world(2), func(t *testing.T, l *lab) {
		o := l.knows(100, 101)
		upid, err := l.client.VM("pve1", 100).MoveDisk(t.Context(), pve.MoveDiskOptions{Disk: "scsi0", Storage: "local", Delete: true})
		l.must(err)
		_, err = l.client.Task(upid).Wait(t.Context())
		l.must(err)
		l.must(o.Volumes(t.Context()))
		if g := o.Snapshot().Guests[100]; len(g.Missing) > 0 {
			t.Errorf("it lacks %v", g.Missing)
		}
	})
}

func TestADiskThatMayNotBeSeenIsNotMissing(t *testing.T) {
	w := world(2)
	w.Users = append(w.Users, pvesim.WorldUser{ID: "eve@pve", Password: "secret"})
	w.ACL = append(w.ACL, pvesim.WorldACL{Path: "/", User: "eve@pve", Role: "PVEAuditor"})
	inLab(t, w, func(t *testing.T, l *lab) {
		l.client = l.connect(pve.Password("eve@pve", "secret"))
		o := l.knows(100, 101)
		l.lose(101)
		l.must(o.Volumes(t.Context()))
		for id, g := range o.Snapshot().Guests {
			if len(g.Missing) > 0 {
				t.Errorf("VM %d lacks %v", id, g.Missing)
			}
		}
		if ask := o.NextDisks([]int{100, 101}, time.Hour, 0); ask != nil {
			t.Error("what may not be seen is looked for again and again")
		}
	})
}

// Each place is asked in its turn, and whoever lacks a disk is verified before the others.
func TestPlacesAreAskedForTheirDisksOneAfterTheOther(t *testing.T) {
	inLab(t, world(3), func(t *testing.T, l *lab) {
		o := l.knows(100, 101, 102)
		upid, err := l.client.VM("pve1", 102).MoveDisk(t.Context(), pve.MoveDiskOptions{Disk: "scsi0", Storage: "local", Delete: true})
		l.must(err)
		_, err = l.client.Task(upid).Wait(t.Context())
		l.must(err)
		l.must(o.Config(t.Context(), 102))
		l.lose(101)
		all := []int{100, 101, 102}
		var asked []string
		for ask := o.NextDisks(all, time.Hour, time.Minute); ask != nil; ask = o.NextDisks(all, time.Hour, time.Minute) {
			time.Sleep(time.Second)
			asked = append(asked, l.during(func() { l.must(ask(t.Context())) })...)
		}
		slices.Sort(asked)
		if !slices.Equal(asked, []string{"/nodes/pve1/storage/local/content", "/nodes/pve1/storage/nfs/content"}) {
			t.Errorf("asked are %v", asked)
		}
		if g := o.Snapshot().Guests[101]; len(g.Missing) > 0 {
			t.Errorf("it lacks %v before its config was read again", g.Missing)
		}
		if next := o.Oldest(all, 1, 15); !slices.Equal(next, []int{101}) {
			t.Errorf("verified next are %v", next)
		}
		if next := o.Oldest(all, 1, 1); len(next) > 0 {
			t.Errorf("%v takes two requests", next)
		}
		l.must(o.Verify(t.Context(), 101))
		if g := o.Snapshot().Guests[101]; !slices.Equal(g.Missing, []string{"scsi0"}) {
			t.Errorf("it lacks %v", g.Missing)
		}
		time.Sleep(2 * time.Minute)
		if asked = l.during(func() { l.must(o.NextDisks(all, time.Hour, time.Minute)(t.Context())) }); !slices.Equal(asked, []string{"/nodes/pve1/storage/nfs/content"}) {
			t.Errorf("what lacks a disk is asked again: %v", asked)
		}
		if g := o.Snapshot().Guests[101]; !slices.Equal(g.Missing, []string{"scsi0"}) {
			t.Errorf("then it lacks %v", g.Missing)
		}
	})
}

// knows is an observer that has read the configs of some guests.
func (l *lab) knows(vmids ...int) *observe.Observer {
	l.t.Helper()
	o := observe.New(l.client)
	l.must(o.Refresh(l.t.Context(), 0))
	for _, id := range vmids {
		l.must(o.Config(l.t.Context(), id))
	}
	time.Sleep(time.Second)
	return o
}

// lose removes the file of a guest's disk behind Proxmox' back.
func (l *lab) lose(vmid int) {
	l.sim.Do(func(s *pvesim.State) {
		if !s.LoseDisk(s.VMs[vmid], "scsi0") {
			l.t.Errorf("VM %d has no scsi0 to lose", vmid)
		}
	})
}

// A config that names what the list of its storage shows has nothing of an earlier guest, whatever else names the volumes.
func TestVolumesThatNothingOfTheirGuestNamesAreThoseOfAnEarlierOne(t *testing.T) {
	inLab(t, world(3), func(t *testing.T, l *lab) {
		earlier, err := l.client.Storage("pve1", "nfs").Alloc(t.Context(), pve.AllocOptions{VMID: 101, Filename: "vm-101-disk-7.qcow2", Size: "1G", Format: "qcow2"})
		l.must(err)
		time.Sleep(5 * time.Minute)
		// A disk that was made just now may be on its way into the config.
		_, err = l.client.Storage("pve1", "nfs").Alloc(t.Context(), pve.AllocOptions{VMID: 100, Filename: "vm-100-disk-7.qcow2", Size: "1G", Format: "qcow2"})
		l.must(err)
		// One that waits for a restart, or that is detached, is named.
		detached, err := l.client.Storage("pve1", "nfs").Alloc(t.Context(), pve.AllocOptions{VMID: 102, Filename: "vm-102-disk-7.qcow2", Size: "1G", Format: "qcow2"})
		l.must(err)
		l.sim.Do(func(s *pvesim.State) { s.VMs[102].Conf["unused0"] = detached })
		time.Sleep(10 * time.Second)
		o := l.knows(100, 101, 102)
		l.must(o.Volumes(t.Context()))
		for id, g := range o.Snapshot().Guests {
			want := []string(nil)
			if id == 101 {
				want = []string{earlier}
			}
			if !slices.Equal(g.Unnamed, want) {
				t.Errorf("of VM %d nothing names %v, want %v", id, g.Unnamed, want)
			}
		}
	})
}
