package pvesim

import (
	"strings"
	"time"
)

// copySteps is how many lines of progress a copy logs at most.
const copySteps = 20

// linkedClone makes a volume for another guest that stands on a base volume
// or, where the storage can do that, on a snapshot.
func (a *actor) linkedClone(node, volid string, newVMID int, snap string) (string, error) {
	storage, volname, ok := splitVolID(volid)
	if !ok {
		return "", die("unable to parse volume ID '%s'", volid)
	}
	st, err := a.activate(node, storage)
	if err != nil {
		return "", err
	}
	unlock, err := a.lockStorage(node, storage)
	if err != nil {
		return "", err
	}
	defer unlock()
	a.sleep(a.world.Timing.Alloc.D())
	n, err := st.parseName(volname)
	if err != nil {
		return "", err
	}
	if err := st.canClone(n, snap); err != nil {
		return "", err
	}
	sp := a.space(storage, node)
	src := sp.Volumes[n.key()]
	if src == nil {
		return "", st.cloneOfNothing(n, snap)
	}
	size, system := src.Size, src.System
	if snap != "" {
		s, ok := src.snap(snap)
		if !ok {
			return "", st.cloneOfNothing(n, snap)
		}
		size, system = s.Size, s.System
	}
	format := n.format
	if st.plugin().files && st.Type != "btrfs" {
		format = "qcow2"
	}
	name, err := st.freeName(sp, newVMID, format)
	if err != nil {
		return "", err
	}
	v := &Volume{Name: name, Content: "images", Format: format, Size: size, VMID: newVMID, CTime: a.now(), System: system}
	if st.plugin().files {
		v.Name = itoa(newVMID) + "/" + name
	}
	if st.tracksBase(snap) {
		v.Parent = n.key()
	}
	if st.plugin().files && format == "qcow2" {
		v.Used = sectorMeta
	}
	if v.Used > sp.Free() {
		return "", st.roomFor(sp, n, v.Used)
	}
	sp.put(v)
	return storage + ":" + v.volname(), nil
}

// canClone refuses linked clones of what isn't fit for them.
func (s *Storage) canClone(n volName, snap string) error {
	switch {
	case s.Type == "lvm":
		return die("can't clone images in lvm storage")
	case s.Type == "rbd":
		if !n.isBase && snap == "" {
			return die("%s is not a base image and snapname is not provided", n.volname)
		}
	case s.Type == "lvmthin":
		if !n.isBase && snap == "" {
			return die("clone_image only works on base images")
		}
	case s.Type == "zfspool" || s.Type == "zfs":
		if !n.isBase {
			return die("clone_image only works on base images")
		}
	case s.Type == "btrfs" && (n.format == "raw" || n.format == "subvol"):
	case n.kind != "images":
		return die("clone_image on wrong vtype '%s'", n.kind)
	case snap != "":
		return die("this storage type does not support clone_image on snapshot")
	case n.format == "subvol":
		return die("this storage type does not support clone_image on subvolumes")
	case !n.isBase:
		return die("clone_image only works on base images")
	}
	return nil
}

// tracksBase tells whether the name of a linked clone says what it stands on.
func (s *Storage) tracksBase(snap string) bool {
	switch s.Type {
	case "lvmthin", "btrfs":
		return false
	case "rbd":
		return snap == ""
	}
	return true
}

// copyDisk copies a volume, or what it was at a snapshot, in full. A copy
// that fails or is stopped leaves nothing behind.
func (a *actor) copyDisk(node, volid, snap string, dstNode, dstStorage, format string, dstVMID int, name string, logf func(string, ...any)) (string, error) {
	if logf == nil {
		logf = discardLine
	}
	n, err := a.parseVolID(volid)
	if err != nil {
		return "", err
	}
	src, _ := a.volume(node, volid)
	if src == nil {
		return "", a.state.Storages[n.storage].absent(n)
	}
	from := copySource{path: a.volumePath(node, volid), format: n.format, size: src.Size, data: src.Used, system: src.System}
	if snap != "" {
		s, ok := src.snap(snap)
		if !ok {
			return "", die("copy failed: command '/usr/bin/qemu-img convert' failed: exit code 1")
		}
		from.size, from.data, from.system = s.Size, s.Used, s.System
	}
	if format == "" {
		format = n.format
	}
	if dstStorage == "" {
		dstStorage = n.storage
	}
	return a.fill(dstNode, dstStorage, a.formatFor(dstStorage, format), dstVMID, name, from, logf)
}

// importDisk copies an image into a new disk of a guest.
func (a *actor) importDisk(node, srcVolid, dstStorage, format string, vmid int, logf func(string, ...any)) (volid string, size int64, err error) {
	if logf == nil {
		logf = discardLine
	}
	n, err := a.parseVolID(srcVolid)
	if err != nil {
		return "", 0, err
	}
	src, _ := a.volume(node, srcVolid)
	if src == nil {
		return "", 0, a.state.Storages[n.storage].absent(n)
	}
	from := copySource{path: a.volumePath(node, srcVolid), format: n.format, size: src.Size, data: src.Used, system: src.System}
	if format == "" {
		format = n.format
	}
	volid, err = a.fill(node, dstStorage, a.formatFor(dstStorage, format), vmid, "", from, logf)
	if err != nil {
		return "", 0, err
	}
	v, _ := a.volume(node, volid)
	if v == nil {
		return "", 0, die("volume '%s' does not exist", volid)
	}
	return volid, v.Size, nil
}

// copySource is what a copy reads.
type copySource struct {
	path, format string
	size, data   int64
	system       System
}

// fill makes a volume and copies the source into it, bit by bit.
func (a *actor) fill(node, storage, format string, vmid int, name string, from copySource, logf func(string, ...any)) (volid string, err error) {
	volid, err = a.allocDisk(node, storage, vmid, format, name, (from.size+1023)>>10, logf)
	if err != nil {
		return "", err
	}
	done := false
	defer func() {
		if !done {
			a.abandon(node, volid)
		}
	}()
	logf("allocated target volume '%s'", volid)
	if err := a.pour(node, volid, from, logf); err != nil {
		return "", err
	}
	done = true
	return volid, nil
}

// abandon removes what a failed copy leaves, without waiting for any lock:
// it also runs while an actor is being stopped.
func (a *actor) abandon(node, volid string) {
	if v, sp := a.volume(node, volid); v != nil {
		a.forget(sp, v)
	}
}

// pour copies the source's data into a volume, as qemu-img convert does.
func (a *actor) pour(node, volid string, from copySource, logf func(string, ...any)) error {
	st := a.state.Storages[storageOf(volid)]
	total := a.copyTime(from.size)
	steps := 1
	if total > 0 {
		steps = copySteps
	}
	goal := st.written(formatOf(volid), from.size, from.data)
	logf("transferred %s of %s (0.00%%)", humanBytes(0), humanBytes(from.size))
	for i := 1; i <= steps; i++ {
		a.sleep(total / time.Duration(steps))
		v, sp := a.volume(node, volid)
		if v == nil {
			return die("copy failed: volume '%s' does not exist", volid)
		}
		if used := goal * int64(i) / int64(steps); used > v.Used {
			if used-v.Used > sp.Free() {
				at := from.size * int64(i-1) / int64(steps)
				logf("qemu-img: error while writing at byte %d: No space left on device", at)
				return die("copy failed: command '/usr/bin/qemu-img convert -p -n -f %s -O %s %s zeroinit:%s' failed: exit code 1",
					from.format, v.Format, from.path, a.volumePath(node, volid))
			}
			sp.grow(v, v.Size, used)
		}
		logf("transferred %s of %s (%.2f%%)", humanBytes(from.size*int64(i)/int64(steps)), humanBytes(from.size), float64(i)*100/float64(steps))
	}
	v, _ := a.volume(node, volid)
	v.System = from.system
	return nil
}

// makeBase turns a disk into a base of linked clones: vm-… becomes base-….
func (a *actor) makeBase(node, volid string) (string, error) {
	storage, _, ok := splitVolID(volid)
	if !ok {
		return "", die("unable to parse volume ID '%s'", volid)
	}
	if _, err := a.activate(node, storage); err != nil {
		return "", err
	}
	unlock, err := a.lockStorage(node, storage)
	if err != nil {
		return "", err
	}
	defer unlock()
	a.sleep(a.world.Timing.Alloc.D())
	return a.makeBaseNow(node, volid)
}

// makeBaseNow does so without taking a lock or time.
func (a *actor) makeBaseNow(node, volid string) (string, error) {
	n, err := a.parseVolID(volid)
	if err != nil {
		return "", err
	}
	storage, volname := n.storage, n.volname
	st := a.state.Storages[storage]
	switch {
	case st.Type == "lvm":
		return "", die("can't create base images in lvm storage")
	case n.kind != "images":
		return "", die("create_base on wrong vtype '%s'", n.kind)
	case n.isBase:
		return "", die("create_base not possible with base image")
	}
	sp := a.space(storage, node)
	v := sp.Volumes[n.key()]
	if v == nil {
		return "", st.baseOfNothing(n)
	}
	if st.Type == "lvmthin" && len(v.Snaps) > 0 {
		return "", die("unable to create base volume - found snaphost 'snap_%s_%s'", volname, v.Snaps[0].Name)
	}
	dir, file := "", v.Name
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		dir, file = file[:i+1], file[i+1:]
	}
	to := dir + strings.Replace(strings.Replace(file, "subvol-", "basevol-", 1), "vm-", "base-", 1)
	if st.plugin().files {
		to = dir + "base-" + strings.TrimPrefix(file, "vm-")
		if !strings.HasPrefix(file, "vm-") {
			to = v.Name
		}
		if to != v.Name && sp.Volumes[to] != nil {
			base, _ := st.parseName(to)
			return "", die("file '%s' already exists", st.pathOf(base))
		}
	}
	sp.drop(v.Name)
	v.Name = to
	sp.put(v)
	return storage + ":" + v.volname(), nil
}
