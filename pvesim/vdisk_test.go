package pvesim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// alloc makes a disk of VM 100.
func (l *lab) alloc(storage, format, name string, size int64) (string, error) {
	var volid string
	err := l.act(func(a *actor) (err error) {
		volid, err = a.allocDisk("pve1", storage, 100, format, name, size>>10, nil)
		return err
	})
	return volid, err
}

func TestDisksAreNamedAsTheirStorageDoes(t *testing.T) {
	for _, release := range []string{"9.2", "8.4"} {
		inDepot(t, depotWorld(release), func(t *testing.T, l *lab) {
			for _, c := range []struct{ storage, format, want string }{
				{"local", "", "local:100/vm-100-disk-0.raw"},
				{"local", "qcow2", "local:100/vm-100-disk-1.qcow2"}, // a number is taken whatever the format
				{"nas", "raw", "nas:100/vm-100-disk-0.raw"},
				{"nas", "qcow2", "nas:100/vm-100-disk-0.qcow2"}, // but not where there are no subvolumes
				{"btr", "", "btr:100/vm-100-disk-0.raw"},
				{"thick", "", "thick:vm-100-disk-0"},
				{"thick", "raw", "thick:vm-100-disk-1"},
				{"thin", "", "thin:vm-100-disk-0"},
				{"tank", "", "tank:vm-100-disk-0"},
				{"tank", "subvol", "tank:subvol-100-disk-1"},
				{"ceph", "", "ceph:vm-100-disk-0"},
				{"ceph", "qcow2", "ceph:vm-100-disk-1"}, // RBD doesn't look at the format
			} {
				if got, err := l.alloc(c.storage, c.format, "", 1<<30); err != nil || got != c.want {
					t.Errorf("%s on %s: %s %v, want %s", c.format, c.storage, got, err, c.want)
				}
			}
			if err := l.act(func(a *actor) error { return a.freeDisk("pve1", "thick:vm-100-disk-0") }); err != nil {
				t.Fatal(err)
			}
			if got, _ := l.alloc("thick", "", "", 1<<30); got != "thick:vm-100-disk-0" {
				t.Errorf("the freed name isn't used again: %s", got)
			}
		})
	}
}

func TestImpossibleDisksAreRefused(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.must("POST", "/storage", "storage", "off", "type", "dir", "path", "/off", "disable", "1")
		l.must("POST", "/storage", "storage", "there", "type", "dir", "path", "/there", "nodes", "pve2")
		l.must("POST", "/storage", "storage", "mnt", "type", "dir", "path", "/mnt/x", "nodes", "pve2", "is_mountpoint", "1")
		l.must("PUT", "/storage/mnt", "delete", "nodes")
		for _, storage := range []string{"local", "thick", "thin", "tank", "ceph"} {
			if _, err := l.alloc(storage, "raw", "", 4<<20); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct{ storage, format, name, want string }{
			{"nope", "", "", "storage 'nope' does not exist"},
			{"off", "", "", "storage 'off' is disabled"},
			{"there", "", "", "storage 'there' is not available on node 'pve1'"},
			{"mnt", "", "", "unable to activate storage 'mnt' - directory is expected to be a mount point but is not mounted: '/mnt/x'"},
			{"local", "raw", "vm-100-disk-0.raw", "disk image '/var/lib/vz/images/100/vm-100-disk-0.raw' already exists"},
			{"local", "raw", "x.qcow2", "illegal name 'x.qcow2' - wrong extension for format ('qcow2 != 'raw')"},
			{"local", "raw", "x", "unable to parse volume filename 'x'"},
			{"thick", "raw", "vm-100-disk-0", `lvcreate 'vg0/vm-100-disk-0' error:   Logical Volume "vm-100-disk-0" already exists in volume group "vg0"`},
			{"local", "subvol", "", "storage does not support subvol quotas"},
			{"thick", "raw", "disk", "unable to parse lvm volume name 'disk'"},
			{"thick", "qcow2", "vm-100-disk-5", "volume name 'vm-100-disk-5' does not match requested format 'qcow2' (did you mean 'vm-100-disk-5.qcow2'?)"},
			{"thick", "qcow2", "", "snapshot-as-volume-chain option need to be enabled to use qcow2 format at /usr/share/perl5/PVE/Storage/LVMPlugin.pm line 1."},
			{"thin", "qcow2", "", "unsupported format 'qcow2' at /usr/share/perl5/PVE/Storage/LvmThinPlugin.pm line 1."},
			{"tank", "vmdk", "", "unsupported format 'vmdk' at /usr/share/perl5/PVE/Storage/ZFSPoolPlugin.pm line 1."},
			{"thin", "raw", "vm-99-disk-0", "illegal name 'vm-99-disk-0' - should be 'vm-100-*'"},
			{"tank", "raw", "vm-100-disk-0", "zfs error: cannot create 'tank/vm-100-disk-0': dataset already exists"},
			{"ceph", "raw", "vm-100-disk-0", "rbd create 'vm-100-disk-0' error: rbd: create error: (17) File exists"},
		} {
			if _, err := l.alloc(c.storage, c.format, c.name, 4<<20); errorText(err) != c.want {
				t.Errorf("%s %s on %s: %q, want %q", c.format, c.name, c.storage, errorText(err), c.want)
			}
		}
	})
}

func TestLVMNamesWereStricterBeforeRelease9(t *testing.T) {
	inDepot(t, depotWorld("8.4"), func(t *testing.T, l *lab) {
		for _, c := range []struct{ format, name, want string }{
			{"raw", "vm-99-disk-0", "illegal name 'vm-99-disk-0' - should be 'vm-100-*'"},
			{"qcow2", "", "unsupported format 'qcow2' at /usr/share/perl5/PVE/Storage/LVMPlugin.pm line 1."},
			{"raw", "", ""},
		} {
			if _, err := l.alloc("thick", c.format, c.name, 4<<20); errorText(err) != c.want {
				t.Errorf("%s %s: %q, want %q", c.format, c.name, errorText(err), c.want)
			}
		}
	})
}

func TestThickDisksTakeTheirSizeAndThinOnesWhatIsWritten(t *testing.T) {
	w := depotWorld("9.2")
	w.Storages[0].Volumes = []WorldVolume{{Name: "import/os.qcow2", Size: 2 << 30}}
	inDepot(t, w, func(t *testing.T, l *lab) {
		for _, c := range []struct {
			storage       string
			empty, copied int64
		}{
			{"thick", 2 << 30, 2 << 30}, {"tankfull", 2 << 30, 2 << 30},
			{"thin", 0, 2 << 30}, {"tank", 0, 2 << 30}, {"ceph", 0, 2 << 30}, {"btr", 0, 2 << 30},
		} {
			if _, err := l.alloc(c.storage, "raw", "", 2<<30); err != nil {
				t.Fatal(err)
			}
			if got := l.used(c.storage); got != c.empty {
				t.Errorf("an empty disk takes %d of %s, want %d", got, c.storage, c.empty)
			}
			err := l.act(func(a *actor) error {
				_, size, err := a.importDisk("pve1", "local:import/os.qcow2", c.storage, "raw", 100, 0, nil)
				if size != 2<<30 {
					t.Errorf("imported size %d", size)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := l.used(c.storage) - c.empty; got != c.copied {
				t.Errorf("a copy takes %d of %s, want %d", got, c.storage, c.copied)
			}
		}
	})
}

func TestFullStoragesFailAsTheirToolsDo(t *testing.T) {
	w := depotWorld("9.2")
	w.Storages[0].Volumes = []WorldVolume{{Name: "import/os.raw", Size: 8 << 30}}
	inDepot(t, w, func(t *testing.T, l *lab) {
		for storage, want := range map[string]string{
			"thick":    `lvcreate 'vg0/vm-100-disk-0' error:   Volume group "vg0" has insufficient free space (2560 extents): 5120 required.`,
			"tankfull": "zfs error: cannot create 'tankfull/vm-100-disk-0': out of space",
			"thin":     "", "tank": "", "ceph": "", "nas": "", // they promise more than they have
		} {
			if _, err := l.alloc(storage, "raw", "", 20<<30); errorText(err) != want {
				t.Errorf("%s: %q, want %q", storage, errorText(err), want)
			}
		}
		l.run("POST", "/nodes/pve1/qemu", "vmid", "100", "scsi0", "nas:0,import-from=local:import/os.raw")
		exit, log := l.ended(l.must("POST", "/nodes/pve1/qemu", "vmid", "101", "scsi0", "nas:0,import-from=local:import/os.raw"))
		want := "copy failed: command '/usr/bin/qemu-img convert -p -n -f raw -O raw /var/lib/vz/import/os.raw zeroinit:/mnt/pve/nas/images/101/vm-101-disk-0.raw' failed: exit code 1"
		if !strings.HasSuffix(exit, want) {
			t.Errorf("task ended with %q", exit)
		}
		if !slices.Contains(log, "qemu-img: error while writing at byte 0: No space left on device") {
			t.Errorf("log %q", log)
		}
		if l.volume("nas:101/vm-101-disk-0.raw") != nil {
			t.Error("the failed copy is still there")
		}
	})
}

func TestCopiesTakeTimeByTheirSizeAndSaySo(t *testing.T) {
	w := depotWorld("9.2")
	w.Timing.ClonePerGiB = Duration(10 * time.Second)
	w.Storages[0].Volumes = []WorldVolume{{Name: "import/os.raw", Size: 2 << 30, System: WithAgent}}
	inDepot(t, w, func(t *testing.T, l *lab) {
		began := l.sim.now()
		log := l.run("POST", "/nodes/pve1/qemu", "vmid", "100", "scsi0", "thin:0,import-from=local:import/os.raw")
		if took := l.sim.now().Sub(began).Round(time.Second); took != 20*time.Second {
			t.Errorf("2 GiB took %v", took)
		}
		for _, line := range []string{"transferred 0.0 B of 2.0 GiB (0.00%)", "transferred 1.0 GiB of 2.0 GiB (50.00%)", "transferred 2.0 GiB of 2.0 GiB (100.00%)"} {
			if !slices.Contains(log, line) {
				t.Errorf("log %q lacks %q", log, line)
			}
		}
		if v := l.volume("thin:vm-100-disk-0"); v.System != WithAgent || v.Size != 2<<30 || v.Used != 2<<30 {
			t.Errorf("the copy is %+v", v)
		}
	})
}

func TestLinkedClonesStandOnTheirBase(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		for _, c := range []struct{ storage, base, clone, second string }{
			{"local", "local:100/base-100-disk-0.raw", "local:100/base-100-disk-0.raw/120/vm-120-disk-0.qcow2", "local:100/base-100-disk-0.raw/120/base-120-disk-0.qcow2"},
			{"nas", "nas:100/base-100-disk-0.raw", "nas:100/base-100-disk-0.raw/120/vm-120-disk-0.qcow2", "nas:100/base-100-disk-0.raw/120/base-120-disk-0.qcow2"},
			{"btr", "btr:100/base-100-disk-0.raw", "btr:120/vm-120-disk-0.raw", "btr:120/base-120-disk-0.raw"},
			{"thin", "thin:base-100-disk-0", "thin:vm-120-disk-0", "thin:base-120-disk-0"},
			{"tank", "tank:base-100-disk-0", "tank:base-100-disk-0/vm-120-disk-0", "tank:base-100-disk-0/base-120-disk-0"},
			{"ceph", "ceph:base-100-disk-0", "ceph:base-100-disk-0/vm-120-disk-0", "ceph:base-100-disk-0/base-120-disk-0"},
		} {
			disk, err := l.alloc(c.storage, "raw", "", 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			l.act(func(a *actor) error {
				if _, err := a.linkedClone("pve1", disk, 120, ""); err == nil && c.storage != "btr" {
					t.Errorf("%s: linked clone of a volume that is no base", c.storage)
				}
				base, err := a.makeBase("pve1", disk)
				if err != nil || base != c.base {
					t.Errorf("base of %s: %s %v", disk, base, err)
				}
				if _, err := a.makeBase("pve1", base); err == nil {
					t.Errorf("%s: base of a base", c.storage)
				}
				clone, err := a.linkedClone("pve1", base, 120, "")
				if err != nil || clone != c.clone && c.storage != "btr" {
					t.Errorf("clone of %s: %s %v", base, clone, err)
				}
				err = a.freeDisk("pve1", base)
				if tracked := c.storage != "thin" && c.storage != "btr"; tracked != (err != nil) {
					t.Errorf("%s: removal of a base with clones: %v", c.storage, err)
				}
				second, err := a.makeBase("pve1", clone)
				if err != nil || second != c.second && c.storage != "btr" {
					t.Errorf("base of %s: %s %v", clone, second, err)
				}
				if err := a.freeDisk("pve1", second); err != nil {
					t.Error(err)
				}
				if err := a.freeDisk("pve1", base); err != nil {
					t.Errorf("%s: removal of a base without clones: %v", c.storage, err)
				}
				return nil
			})
		}
		if _, err := l.alloc("thick", "", "", 4<<20); err != nil {
			t.Fatal(err)
		}
		for want, fn := range map[string]func(a *actor) error{
			"can't create base images in lvm storage": func(a *actor) error { _, err := a.makeBase("pve1", "thick:vm-100-disk-0"); return err },
			"can't clone images in lvm storage":       func(a *actor) error { _, err := a.linkedClone("pve1", "thick:vm-100-disk-0", 120, ""); return err },
		} {
			if err := l.act(fn); errorText(err) != want {
				t.Errorf("%q, want %q", errorText(err), want)
			}
		}
	})
}

func TestRollbackBringsSizeAndSystemBack(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		for storage, format := range map[string]string{"local": "qcow2", "btr": "raw", "thin": "raw", "tank": "raw", "ceph": "raw"} {
			disk, err := l.alloc(storage, format, "", 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			err = l.act(func(a *actor) error {
				if err := a.snapshotVolume("pve1", disk, "one"); err != nil {
					return err
				}
				if err := a.resizeVolume("pve1", disk, 2<<30); err != nil {
					return err
				}
				v, _ := a.volume("pve1", disk)
				v.System = WithAgent
				if err := a.snapshotVolume("pve1", disk, "two"); err != nil {
					return err
				}
				err := a.rollbackVolume("pve1", disk, "one")
				if storage == "tank" {
					if want := "can't rollback, 'one' is not most recent snapshot on '" + disk + "'"; errorText(err) != want {
						t.Errorf("%q, want %q", errorText(err), want)
					}
					if err := a.deleteVolumeSnapshot("pve1", disk, "two"); err != nil {
						return err
					}
					err = a.rollbackVolume("pve1", disk, "one")
				}
				if err != nil || v.Size != 1<<30 || v.System != Blank {
					t.Errorf("%s: after the rollback %+v, %v", storage, v, err)
				}
				if a.snapshotVolume("pve1", disk, "one") == nil || a.deleteVolumeSnapshot("pve1", disk, "nope") == nil {
					t.Errorf("%s: snapshots of taken names, or removal of none", storage)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", storage, err)
			}
		}
	})
}

func TestAStorageServesAsManyAtOnceAsItsLockLets(t *testing.T) {
	for storage, want := range map[string]string{
		"local": "can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout",
		"nas":   "cfs-lock 'storage-nas' error: got lock request timeout",
	} {
		w := depotWorld("9.2")
		w.Locks.Storage = 1
		w.Timing.Alloc = Duration(4 * time.Second)
		inDepot(t, w, func(t *testing.T, l *lab) {
			results := make(chan string)
			for i := range 5 {
				go func() {
					r := l.post("/nodes/pve1/storage/"+storage+"/content", "vmid", "100", "size", "1M", "format", "raw", "filename", fmt.Sprintf("vm-100-disk-%d.raw", i))
					results <- r.reason
				}()
			}
			synctest.Wait()
			counts := map[string]int{}
			for range 5 {
				counts[<-results]++
			}
			// Three begin within ten seconds: at 0, 4 and 8.
			if counts["OK"] != 3 || counts[want] != 2 {
				t.Errorf("%v, want 3 OK and 2 %q", counts, want)
			}
		})
	}
}

func TestAStoppedCopyLeavesNothingAndFreesItsLocks(t *testing.T) {
	w := depotWorld("9.2")
	w.Locks.Storage = 1
	w.Timing.ClonePerGiB = Duration(time.Minute)
	inDepot(t, w, func(t *testing.T, l *lab) {
		l.run("POST", "/nodes/pve1/qemu", "vmid", "100", "scsi0", "local:2")
		upid := l.must("POST", labVM+"/move_disk", "disk", "scsi0", "storage", "thin").(string)
		time.Sleep(10 * time.Second)
		if l.volume("thin:vm-100-disk-0") == nil {
			t.Fatal("nothing is being copied")
		}
		l.must("DELETE", "/nodes/pve1/tasks/"+upid)
		if exit, _ := l.ended(upid); exit != "storage migration failed: interrupted by signal" {
			t.Errorf("task ended with %q", exit)
		}
		if l.volume("thin:vm-100-disk-0") != nil || l.used("thin") != 0 {
			t.Error("the stopped copy is still there")
		}
		l.run("PUT", labVM+"/resize", "disk", "scsi0", "size", "3G")
		if _, err := l.alloc("thin", "", "", 4<<20); err != nil {
			t.Error(err)
		}
	})
}
