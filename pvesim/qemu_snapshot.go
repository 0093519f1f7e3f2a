package pvesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// snapshotJob is what a snapshot task works on.
type snapshotJob struct {
	node    string
	vmid    int
	name    string
	withRAM bool
	note    string
	force   bool
	// half is set when a snapshot that couldn't be taken is removed again:
	// the disks that have it already.
	half map[string]bool
}

// lockMigration takes the lock that keeps a VM where it is.
func (a *actor) lockMigration(vmid int) (unlock func(), err error) {
	file := fmt.Sprintf("/var/lock/pve-manager/pve-migrate-%d", vmid)
	unlock, ok := a.acquire(file, 1, 10*time.Second)
	if !ok {
		return nil, die("can't lock file '%s' - got timeout", file)
	}
	return unlock, nil
}

// hasFeature reports whether all disks of a config can do something.
func (s *Sim) hasFeature(c Conf, feature, snap string) bool {
	for _, d := range c.drives() {
		if !d.cdrom() && !s.volumeFeature(d.volume, feature, snap) {
			return false
		}
	}
	return true
}

// snapshotConfig is the part of a config that a snapshot keeps, and that a
// rollback brings back.
func snapshotConfig(from, into Conf) {
	for k, v := range from {
		switch k {
		case "snapstate", "snaptime", "vmstate", "lock", "digest", "description":
			continue
		}
		if !family(k, "unused") {
			into[k] = v
		}
	}
}

// takeSnapshot makes a snapshot: a section in the config, the memory if
// asked for, a snapshot of each disk.
func (t *task) takeSnapshot(job *snapshotJob) error {
	snap, err := t.prepareSnapshot(job)
	if err != nil {
		return err
	}
	vm, err := t.loadVM(job.node, job.vmid)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	err = t.trap(func() error { return t.snapshotDisks(vm, snap, job.name, done) })
	if err != nil {
		t.logf("snapshot create failed: starting cleanup")
		undo := *job
		undo.force, undo.half = true, done
		if err := t.dropSnapshot(&undo); err != nil {
			t.logf("%s", err)
		}
		return err
	}
	return t.lockedVM(job.node, job.vmid, func(vm *VM) error {
		if vm.Conf["lock"] != "snapshot" {
			return die("missing snapshot lock")
		}
		snap, err := vm.snapshot(job.name)
		if err != nil {
			return err
		}
		if snap.Conf["snapstate"] != "prepare" {
			return die("wrong snapshot state")
		}
		delete(snap.Conf, "snapstate")
		delete(vm.Conf, "lock")
		vm.Conf["parent"] = job.name
		vm.touch()
		return nil
	})
}

// prepareSnapshot writes the snapshot's section and locks the VM.
func (t *task) prepareSnapshot(job *snapshotJob) (snap *Snap, err error) {
	err = t.lockedVM(job.node, job.vmid, func(vm *VM) error {
		if vm.Template() {
			return die("you can't take a snapshot if it's a template")
		}
		if err := vm.checkLock(); err != nil {
			return err
		}
		if job.withRAM {
			if err := checkMemoryCanMove(vm.Conf); err != nil {
				return err
			}
		}
		if vm.Snaps[job.name] != nil {
			return die("snapshot name '%s' already used", job.name)
		}
		if !t.hasFeature(vm.Conf, "snapshot", "") {
			return die("snapshot feature is not available")
		}
		snap = &Snap{Conf: Conf{}}
		if job.withRAM && vm.Run != nil {
			state, err := t.allocState(vm, job.name, "")
			if err != nil {
				return err
			}
			snap.Conf = state
		}
		for _, name := range vm.snapNames() {
			if other := vm.Snaps[name].Conf; other["parent"] == job.name {
				t.logf("deleting parent '%s' reference from '%s' to avoid bogus snapshot cycle.", job.name, name)
				delete(other, "parent")
			}
		}
		snapshotConfig(vm.Conf, snap.Conf)
		snap.Conf["snapstate"] = "prepare"
		snap.Conf["snaptime"] = strconv.FormatInt(t.now().Unix(), 10)
		snap.describe(job.note)
		if vm.Snaps == nil {
			vm.Snaps = map[string]*Snap{}
		}
		vm.Snaps[job.name] = snap
		vm.Conf["lock"] = "snapshot"
		vm.touch()
		return nil
	})
	return snap, err
}

// snapNames lists the snapshots by name.
func (v *VM) snapNames() []string {
	var names []string
	for name := range v.Snaps {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// snapshotDisks saves the memory and takes a snapshot of each disk.
func (t *task) snapshotDisks(vm *VM, snap *Snap, name string, done map[string]bool) error {
	frozen := false
	if vm.Run != nil && snap.Conf["vmstate"] == "" {
		frozen = t.freeze(vm)
	}
	saved := false
	defer func() {
		switch r := vm.Run; {
		case r == nil:
		case frozen:
			t.thaw(vm)
		case saved && r.Paused.IsZero():
			if err := t.control(vm, ContinueCPUs); err != nil {
				t.logf("%v", err)
			}
		}
	}()
	if volid := snap.Conf["vmstate"]; volid != "" {
		if err := t.saveState(vm, volid); err != nil {
			return err
		}
		saved = true
	}
	t.sleep(t.world.Timing.Snapshot.D())
	for _, d := range snap.Conf.drives() {
		if d.cdrom() {
			continue
		}
		t.logf("snapshotting 'drive-%s' (%s)", d.key, d.volume)
		if vm.Run != nil && d.key != "tpmstate0" && t.atLeast(9) {
			t.logMethod(d.volume)
		}
		if err := t.snapshotVolume(vm.Node, d.volume, name); err != nil {
			return err
		}
		done[d.key] = true
	}
	return nil
}

// logMethod says how a snapshot of a running VM's disk is taken.
func (t *task) logMethod(volid string) {
	st := t.state.Storages[storageOf(volid)]
	switch {
	case st == nil:
	case formatOf(volid) == "qcow2" && (st.Type == "lvm" || st.chained()):
		t.logf("external qemu snapshot")
	case formatOf(volid) == "qcow2", st.Type == "rbd" && st.Conf["krbd"] != "1":
		t.logf("internal qemu snapshot")
	}
}

// freeze has the guest's agent freeze its file systems, if that is wanted
// and possible.
func (t *task) freeze(vm *VM) bool {
	wanted := agentEnabled(vm.Conf)
	if v, ok := property(vm.Conf["agent"], "freeze-fs", ""); ok && !perlBool(v) {
		wanted = false
	}
	switch {
	case !t.atLeast(9) && !wanted:
		return false
	case !wanted:
		t.logf("skipping guest filesystem freeze - disabled in VM options")
		return false
	}
	if !t.agentAnswers(vm) {
		if t.atLeast(9) {
			t.logf("skipping guest filesystem freeze - agent configured but not running?")
		} else {
			t.logf("QEMU Guest Agent is not running - VM %d qmp command 'guest-ping' failed - got timeout", vm.ID)
		}
		return false
	}
	r := vm.Run
	switch {
	case t.machines != nil:
		if err := t.freezeMachine(vm, true); err != nil {
			t.logf("%v", err)
			return false
		}
		return true
	case r.Guest.Frozen:
		t.logf("skipping guest filesystem freeze - already frozen")
		return false
	}
	r.Guest.Frozen = true
	return true
}

// thaw lets the guest's file systems go on.
func (t *task) thaw(vm *VM) {
	if t.machines != nil {
		if err := t.freezeMachine(vm, false); err != nil {
			t.logf("%v", err)
		}
	} else if vm.Run.Guest != nil {
		vm.Run.Guest.Frozen = false
	}
}

// saveState writes the memory of the VM to a volume.
func (t *task) saveState(vm *VM, volid string) error {
	r := vm.Run
	if r == nil {
		return notRunning(vm.ID)
	}
	t.logf("saving VM state and RAM using storage '%s'", storageOf(volid))
	total := r.Mem / 16
	needs := t.saveTime(vm)
	seconds := int(needs / time.Second)
	for i := range seconds {
		t.logf("%s in %ds", strings.TrimSpace(renderBytes(total*int64(i)/int64(seconds))), i)
		t.sleep(needs / time.Duration(seconds))
	}
	if seconds == 0 {
		t.sleep(needs)
	}
	if vm.Run != r {
		return notRunning(vm.ID)
	}
	if err := t.saveMemory(vm, volid); err != nil {
		return err
	}
	t.logf("completed saving the VM state in %ds, saved %s", seconds, renderBytes(total))
	return nil
}

// renderBytes prints an amount as Proxmox does in task logs.
func renderBytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return fmt.Sprintf("%.2f %s", f, units[i])
}
