package pvesim

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// cloneLockWait is how long a clone waits for the lock files.
const cloneLockWait = time.Second

// cloneVM is the clone's task. The source's lock file is shared with other
// clones unless the source runs.
func (t *task) cloneVM(job *cloneJob) error {
	lockSource := t.lockConfigShared
	if job.running {
		lockSource = t.lockConfigFor
	}
	unlock, err := lockSource(job.vmid, cloneLockWait)
	if err != nil {
		return err
	}
	defer unlock()
	unlockNew, err := t.lockConfigFor(job.newID, cloneLockWait)
	if err != nil {
		return err
	}
	defer unlockNew()
	plan, err := t.checkClone(job)
	if err != nil {
		return err
	}
	t.logf("creating a clone of VM %d with ID %d", job.vmid, job.newID)
	t.newIdentity(job, plan)
	if t.state.VMs[job.newID] != nil {
		return die("close (rename) atomic file '/etc/pve/nodes/%s/qemu-server/%d.conf' failed: File exists", job.node, job.newID)
	}
	vm := &VM{
		ID: job.newID, Node: job.node, Conf: Conf{"lock": "clone", "description": " qmclone temporary file"},
		Snaps: map[string]*Snap{}, Pending: Conf{}, Deletes: map[string]bool{},
	}
	t.putVM(vm)
	t.copyFirewall(job.vmid, job.newID)
	var made []string
	err = t.trapAs("interrupted by signal", func() error { return t.fillClone(job, plan, vm, &made) })
	if err == nil {
		return nil
	}
	t.sleep(min(time.Second, t.world.Timing.Clone.D()))
	for _, volid := range made {
		if err := t.freeDisk(job.node, volid); err != nil {
			t.logf("%s", err)
		}
	}
	t.dropFirewall(job.newID)
	if t.state.VMs[job.newID] == vm {
		t.dropVM(vm.ID)
	}
	return die("clone failed: %s", err)
}

// newIdentity gives the clone what must not be the source's.
func (t *task) newIdentity(job *cloneJob, plan *clonePlan) {
	c, id := plan.conf, itoa(job.newID)
	p := t.option("smbios1")
	if props, err := p.ParseProps("smbios1", c["smbios1"]); err == nil {
		props.Set("uuid", t.uuid("smbios", id))
		c["smbios1"] = p.PrintProps(props)
	} else {
		c["smbios1"] = "uuid=" + t.uuid("smbios", id)
	}
	if c["vmgenid"] != "" {
		c["vmgenid"] = t.uuid("vmgenid", id)
	}
	delete(c, "template")
	if job.name != "" {
		c["name"] = job.name
	} else {
		name := itoa(job.vmid)
		if vm := t.state.VMs[job.vmid]; vm != nil {
			from := vm.Conf
			if job.snap != "" && vm.Snaps[job.snap] != nil {
				from = vm.Snaps[job.snap].Conf
			}
			if n, ok := from["name"]; ok {
				name = n
			}
		}
		c["name"] = "Copy-of-VM-" + name
	}
	if truthy(job.note) {
		c["description"] = job.note
	}
}

// fillClone copies the disks. The config grows with each of them; the first
// one brings name, description and all the rest.
func (t *task) fillClone(job *cloneJob, plan *clonePlan, vm *VM, made *[]string) error {
	for _, d := range plan.drives {
		if d.cloudInit() {
			continue
		}
		if _, err := t.activate(job.node, storageOf(d.volume)); err != nil {
			return err
		}
		if v, _ := t.volume(job.node, d.volume); v == nil {
			return t.missingVolume(d.volume)
		}
	}
	needs := t.world.Timing.Clone.D()
	for i, d := range plan.drives {
		volid, err := t.cloneDisk(job, plan.conf, d, plan.full[d.key])
		if err != nil {
			return err
		}
		*made = append(*made, volid)
		t.sleep(needs)
		needs = 0
		if job.mirrors(d, plan) && i == len(plan.drives)-1 {
			t.endMirror(job, d)
		}
		d.set("format", "")
		d.volume = volid
		if v, _ := t.volume(job.node, volid); v != nil {
			d.set("size", sizeText(v.Size))
		}
		plan.conf[d.key] = d.String()
		if err := t.writeClone(vm, plan); err != nil {
			return err
		}
	}
	t.sleep(needs)
	delete(plan.conf, "lock")
	if len(plan.pending) > 0 {
		t.logf("found pending changes for '%s', discarding for clone", strings.Join(plan.pending, ","))
	}
	if err := t.writeClone(vm, plan); err != nil {
		return err
	}
	if job.target != "" {
		vm.Node = job.target
		vm.recount()
	}
	if job.pool != "" {
		t.addVMToPool(job.newID, job.pool)
	}
	return nil
}

func (t *task) writeClone(vm *VM, plan *clonePlan) error {
	if t.state.VMs[vm.ID] != vm {
		return noGuest(vm.Node, "qemu-server", vm.ID)
	}
	d := vm.draft()
	d.conf, d.cloudInit = plan.conf.clone(), plan.cloudInit.clone()
	return t.store(vm, d)
}

// mirrors reports whether a disk is copied while the source writes to it.
func (job *cloneJob) mirrors(d drive, plan *clonePlan) bool {
	return job.running && job.snap == "" && plan.full[d.key] && !d.cloudInit()
}

// cloneDisk copies one disk of a VM, in full or as a linked clone.
func (t *task) cloneDisk(job *cloneJob, conf Conf, d drive, full bool) (string, error) {
	if !full {
		t.logf("create linked clone of drive %s (%s)", d.key, d.volume)
		volid, err := t.linkedClone(job.node, d.volume, job.newID, job.snap)
		if err == nil {
			t.logLinked(job.node, d.volume, volid, job.newID)
		}
		return volid, err
	}
	t.logf("create full clone of drive %s (%s)", d.key, d.volume)
	storage := job.storage
	if storage == "" {
		storage = storageOf(d.volume)
	}
	format := job.format
	if format == "" {
		format = formatOf(d.volume)
	}
	real := t.formatFor(storage, format)
	if job.format != "" && real != job.format {
		t.logf("format '%s' is not supported by the target storage '%s' - using '%s' instead", job.format, storage, real)
	}
	if d.cloudInit() {
		name := fmt.Sprintf("vm-%d-cloudinit", job.newID)
		if st := t.state.Storages[storage]; st != nil && st.plugin().files {
			name += "." + real
		}
		volid, err := t.allocDisk(job.node, storage, job.newID, real, name, 4096, t.logf)
		if err == nil {
			t.logf("allocated target volume '%s'", volid)
		}
		return volid, err
	}
	if job.running && job.snap == "" {
		return t.mirrorDisk(job, conf, d, storage, real)
	}
	return t.copyDisk(job.node, d.volume, job.snap, job.node, storage, real, job.newID, conf.fixedSize(d), t.logf)
}

// logLinked says what a file storage says when it makes a linked clone.
func (t *task) logLinked(node, from, to string, vmid int) {
	st := t.state.Storages[storageOf(from)]
	if st == nil || !st.plugin().files {
		return
	}
	base, err := t.parseVolID(from)
	if err != nil {
		return
	}
	name, backing := path.Base(to), fmt.Sprintf("../%d/%s", base.vmid, base.name)
	t.logf("clone %s: images, %s, %d to %s (base=%s)", base.volname, name, vmid, name, backing)
	if v, _ := t.volume(node, to); v != nil && v.Format == "qcow2" {
		t.logf("Formatting '%s', fmt=qcow2 cluster_size=131072 extended_l2=on preallocation=%s compression_type=zlib size=%d"+
			" backing_file=%s backing_fmt=%s lazy_refcounts=off refcount_bits=16",
			t.volumePath(to), st.preallocation(base.format), v.Size, backing, base.format)
	}
}

// mirrorDisk copies a disk of a VM that runs.
func (t *task) mirrorDisk(job *cloneJob, conf Conf, d drive, storage, format string) (string, error) {
	name := "drive-" + d.key
	lines := func(format string, args ...any) {
		if rest, ok := strings.CutPrefix(format, "transferred "); ok {
			if strings.Contains(rest, "(0.00") {
				t.logf("drive mirror is starting for %s", name)
			}
			format = name + ": transferred " + rest
		}
		t.logf(format, args...)
	}
	return t.copyDisk(job.node, d.volume, "", job.node, storage, format, job.newID, conf.fixedSize(d), lines)
}

// endMirror cuts the copies off from the VM that runs, at a moment when its
// file systems are quiet.
func (t *task) endMirror(job *cloneJob, last drive) {
	t.logf("all 'mirror' jobs are ready")
	before, after := "suspend vm", "resume vm"
	if vm := t.state.VMs[job.vmid]; vm != nil && vm.Run != nil && agentEnabled(vm.Conf) && t.agentAnswers(vm) {
		before, after = "freeze filesystem", "unfreeze filesystem"
	}
	t.logf("%s", before)
	t.logf("drive-%s: Completing block job...", last.key)
	t.logf("drive-%s: Completed successfully.", last.key)
	t.logf("%s", after)
}
