package pvesim

import "time"

// copySteps is how many lines of progress a copy logs at most.
const copySteps = 20

// copyDisk copies a volume, or what it was at a snapshot, in full; size is
// that of the copy if not the source's. A copy that fails or is stopped
// leaves nothing behind.
func (a *actor) copyDisk(node, volid, snap string, dstNode, dstStorage, format string, dstVMID int, size int64, logf func(string, ...any)) (string, error) {
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
	from := copySource{storage: n.storage, path: a.volumePath(volid), format: n.format, size: src.Size, data: src.Used, system: src.System, volume: src}
	if snap != "" {
		s, ok := src.snap(snap)
		from.snap, from.noSnap = snap, !ok
		if ok {
			from.size, from.data, from.system = s.Size, s.Used, s.System
		}
	}
	if format == "" {
		format = n.format
	}
	if dstStorage == "" {
		dstStorage = n.storage
	}
	from.resize(size)
	return a.fill(dstNode, dstStorage, a.formatFor(dstStorage, format), dstVMID, from, logf)
}

// importDisk copies an image into a new disk of a guest; fixed is the size
// of disks that have one of their own.
func (a *actor) importDisk(node, srcVolid, dstStorage, format string, vmid int, fixed int64, logf func(string, ...any)) (volid string, size int64, err error) {
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
	from := copySource{storage: n.storage, path: a.volumePath(srcVolid), format: n.format, size: src.Size, data: src.Used, system: src.System, volume: src}
	if n.kind == "iso" { // such a file may be any image
		if err := a.detect(&from); err != nil {
			return "", 0, err
		}
	}
	if format == "" {
		format = n.format
	}
	from.resize(fixed)
	volid, err = a.fill(node, dstStorage, a.formatFor(dstStorage, format), vmid, from, logf)
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
	storage      string
	path, format string
	size, data   int64
	system       System
	volume       *Volume
	snap         string
	noSnap       bool // the snapshot isn't there
}

// resize lets only so much be copied; 0 is all.
func (from *copySource) resize(size int64) {
	if size > 0 {
		from.size, from.data = size, min(from.data, size)
	}
}

// command is what copies the source, as error texts show it.
func (from copySource) command(st *Storage, to volName) string {
	cmd := "/usr/bin/qemu-img convert -p -n"
	if from.snap != "" && from.format == "qcow2" {
		cmd += " -l snapshot.name=" + from.snap
	}
	if st.Type == "zfspool" {
		cmd += " -t none"
	}
	cmd += " -f " + from.format + " -O " + to.format + " " + from.path + " "
	if st.Type != "lvm" {
		cmd += "zeroinit:" // the volume reads as zeros where nothing was written
	}
	return cmd + st.pathOf(to)
}

// fill makes a volume and copies the source into it, bit by bit.
func (a *actor) fill(node, storage, format string, vmid int, from copySource, logf func(string, ...any)) (string, error) {
	volid, err := a.allocDisk(node, storage, vmid, format, "", (from.size+1023)>>10, logf)
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
	to, err := a.parseVolID(volid)
	if err != nil {
		return err
	}
	st := a.state.Storages[to.storage]
	fail := func() error { return die("copy failed: command '%s' failed: exit code 1", from.command(st, to)) }
	if from.noSnap {
		logf("qemu-img: Failed to load snapshot: Can't find snapshot")
		return fail()
	}
	total := a.copyTime(from.size, from.storage, to.storage)
	steps := 1
	if total > 0 {
		steps = copySteps
	}
	goal := st.written(to.format, from.size, from.data)
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
				return fail()
			}
			sp.grow(v, v.Size, used)
		}
		logf("transferred %s of %s (%.2f%%)", humanBytes(from.size*int64(i)/int64(steps)), humanBytes(from.size), float64(i)*100/float64(steps))
	}
	v, _ := a.volume(node, volid)
	v.System = from.system
	return a.copyBytes(v, from.volume, from.snap, false)
}
