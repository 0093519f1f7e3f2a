package pvesim

import (
	"slices"
	"strings"
	"testing"
)

func TestDisksGrowOnEveryStorage(t *testing.T) {
	for _, release := range []string{"9.2", "8.4"} {
		inDepot(t, depotWorld(release), func(t *testing.T, l *lab) {
			l.create("scsi0", "local:1", "scsi1", "thick:1", "scsi2", "thin:1", "scsi3", "tank:1", "scsi4", "ceph:1", "scsi5", "local:1,format=vmdk")
			for _, c := range []struct{ disk, size, value, line string }{
				{"scsi0", "+512M", "local:100/vm-100-disk-0.raw,size=1536M", "Image resized."},
				{"scsi0", "1.75G", "local:100/vm-100-disk-0.raw,size=1792M", "Image resized."},
				{"scsi1", "+1G", "thick:vm-100-disk-0,size=2G", "  Logical volume vg0/vm-100-disk-0 successfully resized."},
				{"scsi2", "2G", "thin:vm-100-disk-0,size=2G", "  Size of logical volume pve/vm-100-disk-0 changed from 1.00 GiB (256 extents) to 2.00 GiB (512 extents)."},
				{"scsi3", "2049M", "tank:vm-100-disk-0,size=2049M", "TASK OK"},
				{"scsi4", "+1T", "ceph:vm-100-disk-0,size=1025G", "Resizing image: 100% complete...done."},
			} {
				if log := l.run("PUT", labVM+"/resize", "disk", c.disk, "size", c.size); !slices.Contains(log, c.line) {
					t.Errorf("%s: log %q lacks %q", c.disk, log, c.line)
				}
				l.holds(c.disk, c.value)
			}
			l.fails("can't resize this image format", "PUT", labVM+"/resize", "disk", "scsi5", "size", "+1G")
			l.fails("error resizing volume '/dev/vg0/vm-100-disk-0':   Insufficient free space: 5120 extents needed, but only 2048 available",
				"PUT", labVM+"/resize", "disk", "scsi1", "size", "+20G")
			l.holds("scsi1", "thick:vm-100-disk-0,size=2G")
			l.start()
			if log := l.run("PUT", labVM+"/resize", "disk", "scsi0", "size", "+1G"); slices.Contains(log, "Image resized.") {
				t.Errorf("a running VM's disk is grown by QEMU: %q", log)
			}
		})
	}
}

func TestResizesThatCannotBeFailInTheTask(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "ide2", "none,media=cdrom")
		const resize = labVM + "/resize"
		l.fails("unable to parse volume ID 'none'", "PUT", resize, "disk", "ide2", "size", "+1G")
		l.fails("checksum mismatch (file change by other user?)", "PUT", resize, "disk", "scsi0", "size", "+1G", "digest", strings.Repeat("0", 40))
		l.fails("Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist", "PUT", "/nodes/pve1/qemu/999/resize", "disk", "scsi0", "size", "+1G")
		l.must("PUT", labVM+"/config", "lock", "backup")
		l.fails("VM is locked (backup)", "PUT", resize, "disk", "scsi0", "size", "+1G")
		l.run("PUT", resize, "disk", "scsi0", "size", "+1G", "skiplock", "1")
		l.must("PUT", labVM+"/config", "delete", "lock", "skiplock", "1")
		l.must("PUT", "/access/acl", "path", "/vms/100", "roles", "PVEVMAdmin", "users", "ann@pve")
		ann := &lab{l.login("ann@pve", "secret")}
		ann.fails("403 Permission check failed (/storage/local, Datastore.AllocateSpace)", "PUT", resize, "disk", "scsi0", "size", "+1G")
		r := ann.put(resize, "disk", "scsi0", "size", "+1G", "skiplock", "1")
		l.same(r.errors, object{"skiplock": "Only root may use this option."}, "errors")
		l.run("DELETE", "/nodes/pve1/storage/local/content/local:100/vm-100-disk-0.raw")
		l.fails("volume 'local:100/vm-100-disk-0.raw' does not exist", "PUT", resize, "disk", "scsi0", "size", "+1G")
	})
	inDepot(t, depotWorld("8.4"), func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1,format=qcow2")
		l.run("POST", labVM+"/snapshot", "snapname", "one")
		l.run("PUT", labVM+"/resize", "disk", "scsi0", "size", "+1G") // 7 refused this
		l.holds("scsi0", "local:100/vm-100-disk-0.qcow2,size=2G")
	})
}

func TestDisksMoveBetweenStorages(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		const move = labVM + "/move_disk"
		l.create("scsi0", "local:1,format=qcow2,discard=on,ssd=1", "ide2", "local:cloudinit")
		l.run("POST", move, "disk", "scsi0", "storage", "thin")
		l.holds("scsi0", "thin:vm-100-disk-0,discard=on,size=1G,ssd=1", "unused0", "local:100/vm-100-disk-0.qcow2")
		log := l.run("POST", move, "disk", "unused0", "storage", "tank", "delete", "1", "format", "qcow2")
		l.holds("unused0", "tank:vm-100-disk-0")
		if line := "format 'qcow2' is not supported by the target storage 'tank' - using 'raw' instead"; !slices.Contains(log, line) {
			t.Errorf("log %q lacks %q", log, line)
		}
		l.run("POST", move, "disk", "ide2", "storage", "ceph", "delete", "1")
		l.holds("ide2", "ceph:vm-100-cloudinit,media=cdrom,size=4M")
		l.run("POST", move, "disk", "scsi0", "storage", "nas", "format", "qcow2", "delete", "1")
		l.run("POST", labVM+"/snapshot", "snapname", "one")
		l.expect(l.post(move, "disk", "scsi0", "storage", "local", "delete", "1"), 500, "you can't move a disk with snapshots and delete the source")
		l.start()
		log = l.run("POST", move, "disk", "scsi0", "storage", "local", "format", "raw")
		for _, line := range []string{"moving disk with snapshots, snapshots will not be moved!", "drive mirror is starting for drive-scsi0", "drive-scsi0: Completed successfully."} {
			if !slices.Contains(log, line) {
				t.Errorf("log %q lacks %q", log, line)
			}
		}
		l.holds("scsi0", "local:100/vm-100-disk-0.raw,discard=on,size=1G,ssd=1")
		for _, c := range []struct {
			r    reply
			want string
		}{
			{l.post(move, "disk", "scsi9", "storage", "thin"), "disk 'scsi9' does not exist"},
			{l.post(move, "disk", "scsi0", "storage", "local"), "you can't move to the same storage with same format"},
			{l.post(move, "disk", "scsi0", "storage", "local", "format", "raw"), "you can't move to the same storage with same format"},
			{l.post(move, "disk", "scsi0", "storage", "nope"), "storage 'nope' does not exist"},
			{l.post(move, "disk", "scsi0", "storage", "thin", "digest", strings.Repeat("0", 40)), "detected modified configuration - file changed by other user? Try again."},
		} {
			l.expect(c.r, 500, c.want)
		}
		for _, c := range []struct {
			params []string
			errors object
		}{
			{[]string{"disk", "scsi0"}, object{"storage": "both 'storage' and 'target-vmid' missing, either needs to be set", "target-vmid": "both 'storage' and 'target-vmid' missing, either needs to be set"}},
			{[]string{"disk", "scsi0", "storage", "thin", "target-vmid", "101"}, object{"storage": "either set 'storage' or 'target-vmid', but not both", "target-vmid": "either set 'storage' or 'target-vmid', but not both"}},
			{[]string{"disk", "scsi0", "target-vmid", "100"}, object{"target-vmid": "must be different than source VMID to reassign disk"}},
		} {
			l.same(l.post(move, c.params...).errors, c.errors, strings.Join(c.params, " "))
		}
	})
}

func TestDisksOfTemplatesMoveAsBases(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1")
		l.run("POST", labVM+"/template")
		l.run("POST", labVM+"/move_disk", "disk", "scsi0", "storage", "tank", "delete", "1")
		l.holds("scsi0", "tank:base-100-disk-0,size=1G")
	})
}

func TestDisksGoToOtherVMs(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		const move = labVM + "/move_disk"
		l.create("scsi0", "local:1", "scsi1", "thin:1,ssd=1", "scsi2", "local:1,format=qcow2", "scsi3", "local:1,ssd=1", "boot", "order=scsi1;scsi0", "ide2", "none,media=cdrom")
		l.run("POST", "/nodes/pve1/qemu", "vmid", "101", "scsi0", "local:2")
		l.run("POST", "/nodes/pve2/qemu", "vmid", "102")
		upid := l.must("POST", move, "disk", "scsi0", "target-vmid", "101", "target-disk", "virtio1").(string)
		if exit, log := l.ended(upid); exit != "OK" || !slices.Contains(log, "removing disk 'scsi0' from boot order config") {
			t.Errorf("%s %q", exit, log)
		}
		if !strings.Contains(upid, ":qmmove:100-scsi0>101-virtio1:root@pam:") {
			t.Errorf("task %s", upid)
		}
		l.holds("scsi0", nil, "boot", "order=scsi1")
		l.run("POST", move, "disk", "scsi1", "target-vmid", "101", "target-disk", "unused3")
		other := l.must("GET", "/nodes/pve1/qemu/101/config").(object)
		if other["virtio1"] != "local:101/vm-101-disk-1.raw,size=1G" || other["unused3"] != "thin:vm-101-disk-0" {
			t.Errorf("the target has %v", other)
		}
		l.must("PUT", labVM+"/config", "lock", "backup")
		l.expect(l.post(move, "disk", "scsi2", "target-vmid", "101"), 500, "VM is locked (backup)")
		l.must("PUT", labVM+"/config", "delete", "lock", "skiplock", "1")
		for _, c := range []struct {
			r    reply
			want string
		}{
			{l.post(move, "disk", "scsi2", "target-vmid", "999"), "could not find target VM 999"},
			{l.post(move, "disk", "scsi2", "target-vmid", "102"), "Both VMs need to be on the same node (pve1 != pve2)"},
			{l.post(move, "disk", "scsi7", "target-vmid", "101"), "Disk 'scsi7' for VM '100' does not exist"},
			{l.post(move, "disk", "scsi2", "target-vmid", "101", "target-disk", "scsi0"), "Target disk key 'scsi0' is already in use for VM '101'"},
			{l.post(move, "disk", "scsi3", "target-vmid", "101", "target-disk", "virtio2"), "failed to parse source disk for target disk format - format error"},
			{l.post(move, "disk", "ide2", "target-vmid", "101"), "CD drive contents can't be moved to another VM"},
			{l.post(move, "disk", "scsi2", "target-vmid", "101", "target-digest", strings.Repeat("0", 40)),
				"VM 101: detected modified configuration - file changed by other user? Try again."},
		} {
			l.expect(c.r, 500, c.want)
		}
		l.start()
		l.expect(l.post(move, "disk", "scsi2", "target-vmid", "101"), 500, "Cannot move disk to another VM while the source VM is running - detach first")
	})
}

func TestUnlinkedDisksBecomeUnusedAndThenGo(t *testing.T) {
	inDepot(t, depotWorld("9.2"), func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "scsi1", "thin:1")
		l.must("PUT", labVM+"/unlink", "idlist", "scsi0")
		l.holds("scsi0", nil, "unused0", "local:100/vm-100-disk-0.raw")
		l.must("PUT", labVM+"/unlink", "idlist", "unused0,scsi1", "force", "1")
		l.holds("unused0", nil, "scsi1", nil)
		if l.volume("local:100/vm-100-disk-0.raw") != nil || l.volume("thin:vm-100-disk-0") != nil {
			t.Error("unlinked with force, but still there")
		}
	})
}
