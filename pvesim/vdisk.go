package pvesim

import "time"

// How much of a storage a disk takes: thick ones (LVM, ZFS without "sparse",
// files that are preallocated in full) all of their size at once, the others
// what was written to them. What guests write isn't simulated, so that is
// what was copied or imported, and next to nothing for a new disk.

// sectorMeta is what an empty file image takes for its tables.
const sectorMeta = 196 << 10

func discardLine(string, ...any) {}

// thick reports whether a disk takes all its space at once.
func (s *Storage) thick(format string) bool {
	switch s.Type {
	case "lvm", "iscsi", "iscsidirect":
		return true
	case "zfspool", "zfs":
		return s.Conf["sparse"] != "1" && format != "subvol"
	case "lvmthin", "rbd":
		return false
	}
	pre := s.Conf["preallocation"]
	return format != "vmdk" && format != "subvol" && (pre == "falloc" || pre == "full")
}

// rounded is the size that a disk gets when so much was asked for.
func (s *Storage) rounded(size int64) int64 {
	unit := int64(1024)
	switch s.Type {
	case "lvm", "lvmthin":
		unit = 4 << 20 // physical extent
	case "zfspool", "zfs", "rbd":
		unit = 1 << 20
	}
	return (size + unit - 1) / unit * unit
}

// written is what a disk takes that holds so many bytes of data.
func (s *Storage) written(format string, size, data int64) int64 {
	if s.thick(format) {
		return size
	}
	if s.plugin().files && format == "qcow2" {
		return max(data, sectorMeta)
	}
	return min(data, size)
}

// allocDisk makes a volume for a guest. Without a name it gets the next
// free vm-ID-disk-N, without a format the storage's default.
func (a *actor) allocDisk(node, storage string, vmid int, format, name string, sizeKiB int64, logf func(string, ...any)) (volid string, err error) {
	if _, err := a.activate(node, storage); err != nil {
		return "", err
	}
	unlock, err := a.lockStorage(node, storage)
	if err != nil {
		return "", err
	}
	defer unlock()
	a.sleep(a.slowed(a.world.Timing.Alloc.D(), storage))
	return a.allocNow(node, storage, vmid, format, name, sizeKiB, logf)
}

// allocNow makes a volume without taking a lock or time, as for a world.
func (a *actor) allocNow(node, storage string, vmid int, format, name string, sizeKiB int64, logf func(string, ...any)) (volid string, err error) {
	st := a.state.Storages[storage]
	if st == nil {
		return "", die("storage '%s' does not exist", storage)
	}
	if format == "" {
		format = st.validFormats()[0]
	}
	if logf == nil {
		logf = discardLine
	}
	v, err := a.allocLocked(st, node, vmid, format, name, sizeKiB<<10, logf)
	if err != nil {
		return "", err
	}
	return storage + ":" + v.volname(), nil
}

// allocLocked makes a volume; the storage's lock is held.
func (a *actor) allocLocked(st *Storage, node string, vmid int, format, name string, size int64, logf func(string, ...any)) (*Volume, error) {
	sp := a.space(st.ID, node)
	volname, err := st.newName(sp, vmid, format, name, a.atLeast(9))
	if err != nil {
		return nil, err
	}
	n, err := st.parseName(volname)
	if err != nil {
		return nil, err
	}
	if sp.Volumes[n.key()] != nil {
		return nil, st.exists(n)
	}
	if n.format == "subvol" && st.plugin().files && st.Type != "btrfs" && size != 0 {
		return nil, die("storage does not support subvol quotas")
	}
	rounded := st.rounded(size)
	v := &Volume{Name: n.key(), Content: "images", Format: n.format, Size: rounded, VMID: n.vmid, CTime: a.now()}
	v.Used = st.written(n.format, rounded, 0)
	if err := st.roomFor(sp, n, v.Used); err != nil {
		return nil, err
	}
	st.logAlloc(n, size, rounded, logf)
	sp.put(v)
	return v, nil
}

// lockVolume takes the lock of the storage that a volume is on.
func (a *actor) lockVolume(node, volid string) (storage string, unlock func(), err error) {
	storage, _, ok := splitVolID(volid)
	if !ok {
		return "", nil, die("unable to parse volume ID '%s'", volid)
	}
	if _, err := a.activate(node, storage); err != nil {
		return "", nil, err
	}
	unlock, err = a.lockStorage(node, storage)
	return storage, unlock, err
}

// freeDisk removes a volume; one that isn't there is mostly fine.
func (a *actor) freeDisk(node, volid string) error { return a.removeVolume(node, volid, discardLine) }

// removeVolume removes a volume and logs what there is to say.
func (a *actor) removeVolume(node, volid string, logf func(string, ...any)) error {
	storage, unlock, err := a.lockVolume(node, volid)
	if err != nil {
		return err
	}
	defer unlock()
	_, volname, _ := splitVolID(volid)
	a.sleep(a.slowed(a.world.Timing.Alloc.D(), storage))
	n, err := a.parseVolID(volid)
	if err != nil {
		return err
	}
	st, sp := a.state.Storages[storage], a.space(storage, node)
	if n.isBase && sp.children[n.key()] > 0 {
		return die("base volume '%s' is still in use by linked clones", volname)
	}
	v := sp.Volumes[n.key()]
	if v == nil {
		return st.missing(n, logf)
	}
	if v.Protect {
		return die("cannot remove protected volume '%s' on '%s'", volname, storage)
	}
	a.forget(sp, v)
	return nil
}

// forget takes a volume off its space, with the bytes it had.
func (s *Sim) forget(sp *Space, v *Volume) {
	sp.drop(v.Name)
	s.dropDisk(v)
	if v.Blob != "" {
		s.blobs.remove(v.Blob)
	}
}

// copyTime is how long it takes to copy a disk between these storages.
func (s *Sim) copyTime(size int64, storages ...string) time.Duration {
	return s.slowed(perGiB(s.world.Timing.ClonePerGiB, size), storages...)
}

// perGiB is how long something takes that takes so long for each GiB.
func perGiB(d Duration, size int64) time.Duration {
	return time.Duration(float64(d.D()) * float64(size) / (1 << 30))
}
