package pvesim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// moveJob is a disk on its way to another storage, or to another VM.
type moveJob struct {
	node            string
	vmid            int
	disk            string
	storage, format string
	delete          bool
	digest          string

	target       int
	targetDisk   string
	targetDigest string
}

// postMoveDisk moves a disk; what can be checked is checked at once and
// again in the task.
func postMoveDisk(c *call) (any, error) {
	job := &moveJob{
		node: c.node(), vmid: c.params.Int("vmid"), disk: c.params.Str("disk"),
		storage: c.params.Str("storage"), format: c.params.Str("format"), delete: c.params.Bool("delete"), digest: c.params.Str("digest"),
		target: c.params.Int("target-vmid"), targetDisk: c.params.Str("target-disk"), targetDigest: c.params.Str("target-digest"),
	}
	if job.targetDisk == "" {
		job.targetDisk = job.disk
	}
	switch {
	case job.target != 0 && job.storage != "":
		const text = "either set 'storage' or 'target-vmid', but not both"
		return nil, badParams(schema.Errors{"target-vmid": text, "storage": text})
	case job.target == 0 && job.storage == "":
		const text = "both 'storage' and 'target-vmid' missing, either needs to be set"
		return nil, badParams(schema.Errors{"target-vmid": text, "storage": text})
	case job.target != 0:
		return c.reassignDisk(job)
	}
	if err := c.need(c.who, "/storage/"+job.storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if _, _, err := job.check(c.Sim, vm); err != nil {
		return nil, err
	}
	return c.fork(job.node, "qmmove", strconv.Itoa(job.vmid), c.who, func(t *task) error {
		return t.lockedVM(job.node, job.vmid, func(vm *VM) error { return job.run(t, vm) })
	}), nil
}

// check makes sure that the disk can go to the storage; kept tells that
// snapshots have it too.
func (job *moveJob) check(s *Sim, vm *VM) (d drive, kept bool, err error) {
	if err := vm.checkLock(); err != nil {
		return d, false, err
	}
	if job.digest != "" && job.digest != vm.Digest() {
		return d, false, die("detected modified configuration - file changed by other user? Try again.")
	}
	value, ok := vm.Conf[job.disk]
	if !ok {
		return d, false, die("disk '%s' does not exist", job.disk)
	}
	d = parseDrive(job.disk, value)
	if d.disc() {
		return d, false, die("you can't move a cdrom")
	}
	n, err := s.parseVolID(d.volume)
	if err != nil {
		return d, false, err
	}
	if n.storage == job.storage && (job.format == "" || n.format == job.format) {
		return d, false, die("you can't move to the same storage with same format")
	}
	st, err := s.storageOn(job.node, job.storage)
	if err != nil {
		return d, false, err
	}
	if !st.HasContent("images") {
		return d, false, badParam("storage", "storage '%s' does not support vm images", job.storage)
	}
	kept = s.usedBesides(vm, d.volume, job.disk)
	if kept && job.delete {
		return d, false, die("you can't move a disk with snapshots and delete the source")
	}
	return d, kept, nil
}

// usedBesides reports whether the VM or one of its snapshots has the volume in
// another place than the option.
func (s *Sim) usedBesides(vm *VM, volid, key string) bool {
	c := &changer{actor: &actor{Sim: s}, vm: vm, d: vm.draft()}
	return c.inUse(volid, key)
}

func (job *moveJob) run(t *task, vm *VM) error {
	d, kept, err := job.check(t.Sim, vm)
	if err != nil {
		return err
	}
	old := d.volume
	t.logf("copying volume '%s' from current storage '%s' to target storage '%s'", old, storageOf(old), job.storage)
	if _, _, _, _, err := t.findDisk(job.node, old); err != nil {
		return err
	}
	if kept {
		t.logf("moving disk with snapshots, snapshots will not be moved!")
	}
	made := ""
	err = t.trapAs("interrupted by signal", func() error { return job.copy(t, vm, d, &made) })
	if err != nil {
		if v, _ := t.volume(job.node, made); v != nil {
			if err := t.removeVolume(job.node, made, t.logf); err != nil {
				t.logf("%v", err)
			}
		}
		return die("storage migration failed: %v", err)
	}
	if job.delete {
		t.logf("removing source volume '%s' after successful copy", old)
		if err := t.removeVolume(job.node, old, t.logf); err != nil {
			t.logf("%v", err)
		}
	}
	return nil
}

// copy makes the new volume and puts it into the config.
func (job *moveJob) copy(t *task, vm *VM, d drive, made *string) error {
	unused := strings.HasPrefix(job.disk, "unused")
	clone := &cloneJob{
		who: t.who, node: job.node, vmid: vm.ID, newID: vm.ID, storage: job.storage, format: job.format,
		running: vm.Run != nil && !unused,
	}
	if clone.running && job.disk == "tpmstate0" {
		return die("cannot move TPM state while VM is running")
	}
	volid, err := t.cloneDisk(clone, vm.Conf, d, true)
	if err != nil {
		return err
	}
	*made = volid
	if clone.running && !d.cloudInit() {
		from, _ := t.volume(job.node, d.volume)
		to, _ := t.volume(job.node, volid)
		if from != nil && to != nil {
			if err := t.swapDisk(from, to); err != nil {
				return err
			}
		}
		t.logf("all 'mirror' jobs are ready")
		t.logf("drive-%s: Completing block job...", job.disk)
		t.logf("drive-%s: Completed successfully.", job.disk)
		t.logf("drive-%s: mirror-job finished", job.disk)
	}
	old := d.volume
	v, _ := t.volume(job.node, volid)
	if v == nil {
		return die("volume '%s' does not exist", volid)
	}
	if from, _ := t.volume(job.node, old); from != nil {
		v.Moved = append(slices.Clip(from.Moved), storageOf(old)+":"+from.Name)
	}
	d.volume = volid
	d.set("format", "")
	if !unused {
		d.set("size", schema.FormatSize(v.Size))
	}
	draft := vm.draft()
	if !job.delete {
		draft.conf[job.disk] = d.String()
		if err := draft.conf.addUnused(old); err != nil {
			return err
		}
		for i := range maxUnused {
			if draft.conf[unusedKey(i)] == old {
				t.logf("adding source volume '%s' as '%s' to config", old, unusedKey(i))
			}
		}
	}
	if vm.Template() && !d.cdrom() && t.volumeFeature(volid, "template", "") {
		if d.volume, err = t.makeBase(job.node, volid); err != nil {
			return err
		}
		*made = d.volume
	}
	draft.conf[job.disk] = d.String()
	return t.store(vm, draft)
}
