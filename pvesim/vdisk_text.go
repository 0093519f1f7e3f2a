package pvesim

import (
	"fmt"
	"strings"
)

// What the tools below Proxmox say: qemu-img, LVM, ZFS, RBD.

// exists is the error for a name that is taken.
func (s *Storage) exists(n volName) error {
	switch s.Type {
	case "lvm", "lvmthin":
		return die("lvcreate '%s/%s' error:   Logical Volume \"%s\" already exists in volume group \"%s\"", s.Conf["vgname"], n.name, n.name, s.Conf["vgname"])
	case "zfspool", "zfs":
		return die("zfs error: cannot create '%s/%s': dataset already exists", s.Conf["pool"], n.name)
	case "rbd":
		return die("rbd create '%s' error: rbd: create error: (17) File exists", n.name)
	}
	return die("disk image '%s' already exists", s.pathOf(n))
}

// missing is what the removal of a volume says that isn't there.
func (s *Storage) missing(n volName, logf func(string, ...any)) error {
	switch s.Type {
	case "lvm":
		return die("lvremove '%s/%s' error:   Failed to find logical volume \"%s/%s\"", s.Conf["vgname"], n.name, s.Conf["vgname"], n.name)
	case "lvmthin", "zfspool", "zfs":
		return nil
	case "rbd":
		return die("rbd error: rbd: error opening image %s: (2) No such file or directory", n.name)
	}
	logf("disk image '%s' does not exist", s.pathOf(n))
	return nil
}

// roomFor checks that a new volume fits.
func (s *Storage) roomFor(sp *Space, n volName, need int64) error {
	free := sp.Free()
	if need <= free && (s.Type != "lvmthin" || free > 0) {
		return nil
	}
	switch s.Type {
	case "lvm":
		// Proxmox compares bytes with KiB here; what doesn't fit fails a
		// little later, in lvcreate.
		vg := s.Conf["vgname"]
		if free < need>>10 {
			return die("not enough free space (%d < %d)", free, need>>10)
		}
		return die("lvcreate '%s/%s' error:   Volume group \"%s\" has insufficient free space (%d extents): %d required.",
			vg, n.name, vg, free>>22, (need+(4<<20)-1)>>22)
	case "lvmthin":
		return die("lvcreate '%s/%s' error:   Cannot create new thin volume, free space in thin pool %s/%s reached threshold.",
			s.Conf["vgname"], n.name, s.Conf["vgname"], s.Conf["thinpool"])
	case "zfspool", "zfs":
		return die("zfs error: cannot create '%s/%s': out of space", s.Conf["pool"], n.name)
	case "rbd":
		return die("rbd create '%s' error: rbd: create error: (28) No space left on device", n.name)
	}
	return die("unable to create image: qemu-img: %s: Could not resize image: No space left on device", s.pathOf(n))
}

// logAlloc writes what the tools print when a volume is made.
func (s *Storage) logAlloc(n volName, asked, size int64, logf func(string, ...any)) {
	switch s.Type {
	case "lvm", "lvmthin":
		if asked != size {
			logf("  Rounding up size to full physical extent %s", lvmSize(size))
		}
		logf("  Logical volume \"%s\" created.", n.name)
	case "zfspool", "zfs", "rbd":
	default:
		pre := s.preallocation(n.format)
		switch n.format {
		case "qcow2":
			logf("Formatting '%s', fmt=qcow2 cluster_size=65536 extended_l2=off preallocation=%s compression_type=zlib size=%d lazy_refcounts=off refcount_bits=16",
				s.pathOf(n), pre, size)
		case "raw":
			logf("Formatting '%s', fmt=raw size=%d preallocation=%s", s.pathOf(n), size, pre)
		case "vmdk":
			logf("Formatting '%s', fmt=vmdk size=%d hwversion=undefined", s.pathOf(n), size)
		}
	}
}

// preallocation is what a storage asks for when it makes a file. Files
// without metadata have none to write beforehand.
func (s *Storage) preallocation(format string) string {
	pre := s.Conf["preallocation"]
	if pre == "" {
		pre = "metadata"
	}
	if format == "raw" && pre == "metadata" {
		pre = "off"
	}
	return pre
}

// lvmSize writes a size as LVM does: "4.00 MiB".
func lvmSize(size int64) string {
	v, unit := float64(size)/1024, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

// humanBytes writes a size as Proxmox' logs do: "64.0 MiB".
func humanBytes(n int64) string {
	v, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// absent is the error for the use of a volume that isn't there.
func (s *Storage) absent(n volName) error {
	switch s.Type {
	case "lvm":
		return die("can't activate LV '%s':   Failed to find logical volume \"%s/%s\"", s.pathOf(n), s.Conf["vgname"], n.name)
	case "lvmthin":
		return die("no such logical volume %s/%s", s.Conf["vgname"], n.name)
	case "zfspool", "zfs":
		return die("zfs error: cannot open '%s/%s': dataset does not exist", s.Conf["pool"], n.name)
	case "rbd":
		return die("rbd error: rbd: error opening image %s: (2) No such file or directory", n.name)
	}
	return die("volume '%s' does not exist", n)
}

// cloneOfNothing is the error for a linked clone of a volume or snapshot
// that isn't there.
func (s *Storage) cloneOfNothing(n volName, snap string) error {
	switch s.Type {
	case "lvmthin":
		lv := n.name
		if snap != "" {
			lv = "snap_" + n.name + "_" + snap
		}
		return die("clone image '%s/%s' error:   Failed to find logical volume \"%s/%s\"", s.Conf["vgname"], lv, s.Conf["vgname"], lv)
	case "zfspool", "zfs":
		if snap == "" {
			snap = "__base__"
		}
		return die("zfs error: cannot open '%s/%s@%s': dataset does not exist", s.Conf["pool"], n.name, snap)
	case "rbd":
		return die("rbd clone '%s' error: rbd: error opening image %s: (2) No such file or directory", n.name, n.name)
	}
	return die("unable to create image: qemu-img: %s: Could not open '../%s': No such file or directory", s.pathOf(n), n.key())
}

// baseOfNothing is the error for making a base of a volume that isn't there.
func (s *Storage) baseOfNothing(n volName) error {
	switch s.Type {
	case "lvmthin":
		return die("lvrename '%s/%s' => '%s/base-%s' error:   Existing logical volume \"%s\" not found in volume group \"%s\"",
			s.Conf["vgname"], n.name, s.Conf["vgname"], n.name[len("vm-"):], n.name, s.Conf["vgname"])
	case "zfspool", "zfs":
		return die("zfs error: cannot open '%s/%s': dataset does not exist", s.Conf["pool"], n.name)
	case "rbd":
		return die("rbd error: rbd: error opening image %s: (2) No such file or directory", n.name)
	}
	return die("file_size_info on '%s' failed", n.volname)
}

// noRoomToGrow is the error for a resize that doesn't fit.
func (s *Storage) noRoomToGrow(n volName, sp *Space, more int64) error {
	switch s.Type {
	case "lvm", "lvmthin":
		return die("error resizing volume '%s':   Insufficient free space: %d extents needed, but only %d available", s.pathOf(n), more>>22, sp.Free()>>22)
	case "zfspool", "zfs":
		return die("zfs error: cannot set property for '%s/%s': size is greater than available space", s.Conf["pool"], n.name)
	}
	return die("command '/usr/bin/qemu-img resize -f %s %s' failed: exit code 1", n.format, s.pathOf(n))
}

// snapExists is the error for a second snapshot of the same name.
func (s *Storage) snapExists(n volName, snap string) error {
	switch s.Type {
	case "lvmthin":
		lv := "snap_" + n.name + "_" + snap
		return die("lvcreate snapshot '%s/%s' error:   Logical Volume \"%s\" already exists in volume group \"%s\"", s.Conf["vgname"], lv, lv, s.Conf["vgname"])
	case "zfspool", "zfs":
		return die("zfs error: cannot create snapshot '%s/%s@%s': dataset already exists", s.Conf["pool"], n.name, snap)
	case "rbd":
		return die("rbd snapshot '%s' error: rbd: failed to create snapshot: (17) File exists", n.volname)
	}
	return die("qemu-img: Could not create snapshot '%s': -17 (File exists)", snap)
}

// snapMissing is the error for a snapshot that the volume doesn't have.
func (s *Storage) snapMissing(n volName, what, snap string) error {
	switch s.Type {
	case "lvmthin":
		lv := "snap_" + n.name + "_" + snap
		if what == "rollback" {
			return die("lvm rollback '%s/%s' error:   Failed to find logical volume \"%s/%s\"", s.Conf["vgname"], lv, s.Conf["vgname"], lv)
		}
		return die("lvremove snapshot '%s/%s' error:   Failed to find logical volume \"%s/%s\"", s.Conf["vgname"], lv, s.Conf["vgname"], lv)
	case "zfspool", "zfs":
		return die("zfs error: could not find any snapshots to destroy; check snapshot names.")
	case "rbd":
		return die("rbd snapshot '%s' error: rbd: failed to remove snapshot: (2) No such file or directory", n.volname)
	}
	flag := "-d"
	if what == "rollback" {
		flag = "-a"
	}
	return die("command '/usr/bin/qemu-img snapshot %s %s %s' failed: exit code 1", flag, snap, s.pathOf(n))
}

// noSize is the error for asking the size of a volume that isn't there.
func (s *Storage) noSize(n volName) error {
	switch s.Type {
	case "lvm", "lvmthin":
		return die("can't get size of '%s':   Failed to find logical volume \"%s/%s\"", s.pathOf(n), s.Conf["vgname"], n.name)
	case "zfspool", "zfs", "rbd":
		return s.absent(n)
	}
	return die("volume_size_info on '%s' failed - no format", n)
}

// perlName is the plugin that runs the storage.
func (s *Storage) perlName() string {
	switch s.Type {
	case "lvmthin":
		return "LvmThinPlugin"
	case "zfspool":
		return "ZFSPoolPlugin"
	case "iscsidirect":
		return "ISCSIDirectPlugin"
	}
	return strings.ToUpper(s.Type) + "Plugin"
}
