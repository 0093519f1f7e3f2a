package pvesim

import (
	"maps"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// qemuDiskRoutes resize, move and unlink disks.
func qemuDiskRoutes() map[string]handler {
	const vm = "/nodes/{node}/qemu/{vmid}"
	return map[string]handler{
		"PUT " + vm + "/resize":     putResize,
		"POST " + vm + "/move_disk": postMoveDisk,
		"PUT " + vm + "/unlink":     putUnlink,
	}
}

// putResize grows a disk. All checks are the task's.
func putResize(c *call) (any, error) {
	job := &resizeJob{
		node: c.node(), vmid: c.params.Int("vmid"), disk: c.params.Str("disk"), size: c.params.Str("size"),
		digest: c.params.Str("digest"), skipLock: c.params.Bool("skiplock"),
	}
	if job.skipLock && !c.who.Root() {
		return nil, badParam("skiplock", "Only root may use this option.")
	}
	return c.fork(job.node, "resize", strconv.Itoa(job.vmid), c.who, func(t *task) error {
		return t.lockedVM(job.node, job.vmid, func(vm *VM) error { return job.run(t, vm) })
	}), nil
}

type resizeJob struct {
	node     string
	vmid     int
	disk     string
	size     string
	digest   string
	skipLock bool
}

func (job *resizeJob) run(t *task, vm *VM) error {
	if job.digest != "" && job.digest != vm.Digest() {
		return die("checksum mismatch (file change by other user?)")
	}
	if !job.skipLock {
		if err := vm.checkLock(); err != nil {
			return err
		}
	}
	value, ok := vm.Conf[job.disk]
	if !ok {
		return die("disk '%s' does not exist", job.disk)
	}
	d := parseDrive(job.disk, value)
	n, err := t.parseVolID(d.volume)
	switch {
	case err != nil:
		return err
	case d.cdrom():
		return die("you can't resize a cdrom")
	}
	if err := t.need(t.who, "/storage/"+n.storage, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	if _, err := t.activate(job.node, n.storage); err != nil {
		return err
	}
	st, _, v, _, err := t.findDisk(job.node, d.volume)
	if err != nil {
		return err
	}
	size := newSize(job.size, v.Size)
	if size < v.Size {
		return die("shrinking disks is not supported")
	}
	if size == v.Size {
		return nil
	}
	t.sleep(t.world.Timing.Resize.D())
	if vm.Run != nil && job.disk == "tpmstate0" { // QEMU doesn't know the TPM's disk
		if t.atLeast(9) {
			return die("no block node inserted for drive 'tpmstate0'")
		}
		return die("VM %d qmp command 'block_resize' failed - Cannot find device='drive-tpmstate0' nor node-name=''", vm.ID)
	}
	before := v.Size
	if err := t.resizeVolume(job.node, d.volume, size); err != nil {
		return err
	}
	st.logResize(n, before, v.Size, vm.Run != nil, t.logf)
	d.set("size", schema.FormatSize(size))
	draft := vm.draft()
	draft.conf[job.disk] = d.String()
	return t.store(vm, draft)
}

// newSize reads "+1G" or "3G"; the schema lets nothing else through.
func newSize(text string, old int64) int64 {
	number, add := strings.CutPrefix(text, "+")
	factor := float64(1)
	for i, unit := range []string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, factor = rest, float64(int64(1)<<(10*(i+1)))
		}
	}
	v, _ := strconv.ParseFloat(number, 64)
	size := int64(v * factor)
	if add {
		size = int64(v*factor + float64(old))
	}
	return size
}

// logResize writes what the tools print when a disk grows. The disk of a
// running VM is grown by QEMU itself, which says nothing.
func (s *Storage) logResize(n volName, before, after int64, running bool, logf func(string, ...any)) {
	switch s.Type {
	case "lvm", "lvmthin":
		logf("  Size of logical volume %s/%s changed from %s (%d extents) to %s (%d extents).",
			s.Conf["vgname"], n.name, lvmSize(before), before>>22, lvmSize(after), after>>22)
		logf("  Logical volume %s/%s successfully resized.", s.Conf["vgname"], n.name)
	case "zfspool", "zfs":
	case "rbd":
		if !running || s.Conf["krbd"] == "1" {
			logf("Resizing image: 100%% complete...done.")
		}
	default:
		if !running {
			logf("Image resized.")
		}
	}
}

// putUnlink is a change of the config that deletes disks.
func putUnlink(c *call) (any, error) {
	as := *c
	as.params = maps.Clone(c.params)
	as.params["delete"] = c.params.Str("idlist")
	delete(as.params, "idlist")
	return putConfig(&as)
}
