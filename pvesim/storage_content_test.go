package pvesim

import (
	"strings"
	"testing"
	"time"
)

func TestContentListsShowWhatEachStorageKnows(t *testing.T) {
	w := depotWorld("9.2")
	w.Storages[0].Volumes = []WorldVolume{
		{Name: "iso/a.iso", Size: 1 << 20}, {Name: "vztmpl/t.tar.zst", Size: 5}, {Name: "vztmpl/plain.tar", Size: 6}, {Name: "snippets/s.yml", Text: "x"},
		{Name: "import/os.qcow2", Size: 1 << 30}, {Name: "import/odd name.qcow2", Size: 1 << 30},
		{Name: "backup/vzdump-qemu-100-2024_01_02-03_04_05.vma.zst", Size: 9}, {Name: "backup/old-100-x.tar.gz", Size: 10},
	}
	inDepot(t, w, func(t *testing.T, l *lab) {
		now := float64(l.sim.now().Unix())
		for _, s := range []string{"local", "thick", "thin", "tank", "ceph"} {
			if _, err := l.alloc(s, "raw", "", 4<<20); err != nil {
				t.Fatal(err)
			}
		}
		l.act(func(a *actor) error {
			for _, disk := range []string{"local:100/vm-100-disk-0.raw", "tank:vm-100-disk-0"} {
				base, err := a.makeBase("pve1", disk)
				if err != nil {
					t.Error(err)
				}
				if _, err := a.linkedClone("pve1", base, 120, ""); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		list := func(storage string, params ...string) map[string]any {
			out := map[string]any{}
			for _, item := range l.must("GET", "/nodes/pve1/storage/"+storage+"/content", params...).([]any) {
				m := item.(object)
				volid := m["volid"].(string)
				delete(m, "volid")
				out[volid] = m
			}
			return out
		}
		const backup = "local:backup/vzdump-qemu-100-2024_01_02-03_04_05.vma.zst"
		l.must("PUT", "/nodes/pve1/storage/local/content/"+backup, "notes", "first\nsecond", "protected", "1")
		l.same(list("local"), map[string]any{
			"local:iso/a.iso":               object{"content": "iso", "format": "iso", "size": 1048576.0, "ctime": now},
			"local:vztmpl/t.tar.zst":        object{"content": "vztmpl", "format": "tzst", "size": 5.0, "ctime": now},
			"local:vztmpl/plain.tar":        object{"content": "vztmpl", "format": "tar", "size": 6.0, "ctime": now},
			"local:snippets/s.yml":          object{"content": "snippets", "format": "snippet", "size": 1.0, "ctime": now},
			"local:import/os.qcow2":         object{"content": "import", "format": "qcow2", "size": 1073741824.0, "ctime": now},
			"local:backup/old-100-x.tar.gz": object{"content": "backup", "format": "tar.gz", "subtype": "unknown", "size": 10.0, "ctime": now, "vmid": 100.0},
			backup: object{"content": "backup", "format": "vma.zst", "subtype": "qemu", "size": 9.0, "vmid": 100.0,
				"ctime": 1704164645.0, "notes": "first", "protected": 1.0},
			"local:100/base-100-disk-0.raw": object{"content": "images", "format": "raw", "size": 4194304.0, "used": 0.0, "vmid": 100.0, "parent": nil, "ctime": now},
			"local:100/base-100-disk-0.raw/120/vm-120-disk-0.qcow2": object{"content": "images", "format": "qcow2", "size": 4194304.0, "used": float64(sectorMeta),
				"vmid": 120.0, "parent": "../100/base-100-disk-0.raw", "ctime": now},
		}, "a directory")
		l.same(list("thick"), map[string]any{"thick:vm-100-disk-0": object{"content": "images", "format": "raw", "size": 4194304.0, "vmid": 100.0, "ctime": now}}, "LVM")
		l.same(list("thin"), map[string]any{"thin:vm-100-disk-0": object{"content": "images", "format": "raw", "size": 4194304.0, "vmid": 100.0, "ctime": now}}, "LVM-thin")
		l.same(list("tank"), map[string]any{
			"tank:base-100-disk-0":               object{"content": "images", "format": "raw", "size": 4194304.0, "vmid": 100.0, "name": "base-100-disk-0", "parent": nil},
			"tank:base-100-disk-0/vm-120-disk-0": object{"content": "images", "format": "raw", "size": 4194304.0, "vmid": 120.0, "name": "vm-120-disk-0", "parent": "base-100-disk-0@__base__"},
		}, "ZFS")
		l.same(list("ceph"), map[string]any{"ceph:vm-100-disk-0": object{"content": "images", "format": "raw", "size": 4194304.0, "vmid": 100.0, "name": "vm-100-disk-0", "parent": nil}}, "RBD")
		for _, c := range []struct {
			params []string
			want   int
		}{
			{[]string{"content", "images"}, 2}, {[]string{"content", "images", "vmid", "120"}, 1}, {[]string{"content", "backup", "vmid", "100"}, 2},
			{[]string{"content", "iso", "vmid", "100"}, 0}, {[]string{"content", "rootdir"}, 0}, {[]string{"vmid", "700"}, 2},
		} {
			if got := list("local", c.params...); len(got) != c.want {
				t.Errorf("%v lists %v", c.params, got)
			}
		}
	})
}

func TestPeopleSeeTheContentThatIsTheirs(t *testing.T) {
	w := depotWorld("9.2")
	w.Storages[0].Volumes = []WorldVolume{
		{Name: "iso/a.iso", Size: 1}, {Name: "snippets/s.yml", Text: "x"}, {Name: "100/vm-100-disk-0.raw", Size: 1 << 20}, {Name: "101/vm-101-disk-0.raw", Size: 1 << 20},
	}
	inDepot(t, w, func(t *testing.T, l *lab) {
		l.must("PUT", "/access/acl", "path", "/storage/local", "roles", "PVEDatastoreUser", "users", "ann@pve")
		l.must("PUT", "/access/acl", "path", "/vms/100", "roles", "PVEVMUser", "users", "ann@pve")
		l.must("PUT", "/access/acl", "path", "/vms/101", "roles", "PVEVMAdmin", "users", "ann@pve")
		ann := l.login("ann@pve", "secret")
		var seen []string
		for _, item := range ann.must("GET", "/nodes/pve1/storage/local/content").([]any) {
			seen = append(seen, strings.TrimPrefix(item.(object)["volid"].(string), "local:"))
		}
		l.same(seen, []string{"101/vm-101-disk-0.raw", "iso/a.iso"}, "what ann sees")
		l.expect(ann.get("/nodes/pve1/storage/local/content/local:snippets/s.yml"), 500, "missing privileges to access local:snippets/s.yml")
		l.expect(ann.get("/nodes/pve1/storage/local/content/local:100/vm-100-disk-0.raw"), 403, "Permission check failed (/vms/100, VM.Config.Disk)")
		l.expect(ann.delete("/nodes/pve1/storage/local/content/local:iso/a.iso"), 403, "Permission check failed (/storage/local, Datastore.Allocate)")
	})
}

func TestVolumesAreReadAndRemovedByTheirNames(t *testing.T) {
	w := depotWorld("9.2")
	w.Timing.Alloc = Duration(3 * time.Second)
	w.Storages[0].Volumes = []WorldVolume{{Name: "import/os.qcow2", Size: 1 << 30}, {Name: "iso/tiny.iso", Text: "abc"},
		{Name: "backup/vzdump-qemu-100-2024_01_02-03_04_05.vma", Size: 9}}
	inDepot(t, w, func(t *testing.T, l *lab) {
		const local = "/nodes/pve1/storage/local/content/"
		l.same(l.must("GET", local+"import/os.qcow2"), object{"path": "/var/lib/vz/import/os.qcow2", "size": 1073741824.0, "used": 1073741824.0, "format": "qcow2"}, "an image")
		l.same(l.must("GET", local+"local:iso/tiny.iso"), object{"path": "/var/lib/vz/template/iso/tiny.iso", "size": 512.0, "used": 3.0, "format": "raw"}, "an ISO")
		r := l.get(local + "thin:vm-100-disk-0")
		l.expect(r, 400, "Parameter verification failed.")
		l.same(r.errors, object{"volume": "storage ID mismatch (thin != local)\n"}, "errors")
		l.expect(l.get("/nodes/pve1/storage/thin/content/vm-100-disk-0"), 500, `can't get size of '/dev/pve/vm-100-disk-0':   Failed to find logical volume "pve/vm-100-disk-0"`)
		l.expect(l.put(local+"iso/tiny.iso", "notes", "x"), 500, "only backups can have notes")
		l.expect(l.put(local+"iso/tiny.iso", "protected", "1"), 500, "only backups support attribute 'protected'")
		l.expect(l.put("/nodes/pve1/storage/thin/content/vm-100-disk-0", "protected", "1"), 500, "attribute 'protected' is not supported for storage type 'lvmthin'")

		const backup = local + "backup/vzdump-qemu-100-2024_01_02-03_04_05.vma"
		l.must("PUT", backup, "protected", "1")
		l.fails("cannot remove protected volume 'backup/vzdump-qemu-100-2024_01_02-03_04_05.vma' on 'local'", "DELETE", backup)
		l.must("PUT", backup, "protected", "0")
		upid := l.must("DELETE", backup).(string)
		if !strings.Contains(upid, ":imgdel:100@local:") {
			t.Errorf("task %s", upid)
		}
		if got := l.must("DELETE", local+"iso/tiny.iso", "delay", "10"); got != nil {
			t.Errorf("removal in time answers %v", got)
		}
		if got := l.must("DELETE", local+"import/os.qcow2", "delay", "1"); got == nil {
			t.Error("removal that takes longer answers nothing")
		}
		l.expect(l.delete("/nodes/pve1/storage/thick/content/vm-100-disk-0", "delay", "10"), 500,
			`lvremove 'vg0/vm-100-disk-0' error:   Failed to find logical volume "vg0/vm-100-disk-0"`)
	})
}

func TestBackupsArePrunedByPeriods(t *testing.T) {
	w := depotWorld("9.2")
	for _, name := range []string{
		"vzdump-qemu-100-2024_01_01-00_00_00", "vzdump-qemu-100-2024_01_02-00_00_00", "vzdump-qemu-100-2024_01_02-12_00_00",
		"vzdump-qemu-100-2024_01_03-00_00_00", "vzdump-qemu-101-2023_01_01-00_00_00", "vzdump-lxc-100-2023_01_01-00_00_00", "vzdump-qemu-100-kept",
	} {
		w.Storages[0].Volumes = append(w.Storages[0].Volumes, WorldVolume{Name: "backup/" + name + ".vma.zst", Size: 1})
	}
	inDepot(t, w, func(t *testing.T, l *lab) {
		const prune = "/nodes/pve1/storage/local/prunebackups"
		l.must("PUT", "/nodes/pve1/storage/local/content/backup/vzdump-qemu-100-2024_01_01-00_00_00.vma.zst", "protected", "1")
		marks := map[string]any{}
		for _, item := range l.must("GET", prune, "prune-backups", "keep-last=1,keep-daily=1", "type", "qemu").([]any) {
			m := item.(object)
			marks[strings.TrimSuffix(strings.TrimPrefix(m["volid"].(string), "local:backup/vzdump-"), ".vma.zst")] = m["mark"]
		}
		l.same(marks, map[string]any{
			"qemu-100-2024_01_01-00_00_00": "protected", "qemu-100-2024_01_02-00_00_00": "remove", "qemu-100-2024_01_02-12_00_00": "keep",
			"qemu-100-2024_01_03-00_00_00": "keep", "qemu-101-2023_01_01-00_00_00": "keep", "qemu-100-kept": "renamed",
		}, "marks")
		l.expect(l.get(prune), 500, "no prune-backups options configured for storage 'local'")
		l.expect(l.get("/nodes/pve1/storage/nas/prunebackups", "prune-backups", "keep-last=1"), 500, "storage 'nas' does not support backups")
		log := l.run("DELETE", prune, "prune-backups", "keep-last=1", "vmid", "100", "type", "qemu")
		l.same(log, []string{
			"removing backup 'local:backup/vzdump-qemu-100-2024_01_02-00_00_00.vma.zst'",
			"removing backup 'local:backup/vzdump-qemu-100-2024_01_02-12_00_00.vma.zst'", "TASK OK",
		}, "log")
	})
}
