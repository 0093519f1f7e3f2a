package pvesim

import "strconv"

// rollBack takes the VM back to a snapshot: stop it, roll back the disks,
// bring back the config, and go on with the memory if that was saved.
func (t *task) rollBack(job *snapshotJob) error {
	snap, err := t.prepareRollback(job)
	if err != nil {
		return err
	}
	t.sleep(t.world.Timing.Snapshot.D())
	for _, d := range snap.Conf.drives() {
		if d.cdrom() {
			continue
		}
		if err := t.rollbackVolume(job.node, d.volume, job.name); err != nil {
			return err
		}
	}
	return t.lockedVM(job.node, job.vmid, func(vm *VM) error {
		snap, err := rollbackTarget(vm, job.name)
		if err != nil {
			return err
		}
		if snap.Conf["snapstate"] != "" {
			return die("unable to rollback to incomplete snapshot (snapstate = %s)", snap.Conf["snapstate"])
		}
		if vm.Run != nil {
			return die("unable to rollback vm %d: vm is running", vm.ID)
		}
		if vm.Conf["lock"] != "rollback" {
			return die("got wrong lock")
		}
		if err := t.restoreConfig(vm, snap.Conf, job.name); err != nil {
			return err
		}
		if state := snap.Conf["vmstate"]; state != "" {
			return t.startLocked(vm, startOptions{state: state})
		}
		return nil
	})
}

func rollbackTarget(vm *VM, name string) (*Snap, error) {
	if vm.Template() {
		return nil, die("you can't rollback if vm is a template")
	}
	return vm.snapshot(name)
}

// prepareRollback checks that a rollback is possible, stops the VM and locks
// it.
func (t *task) prepareRollback(job *snapshotJob) (snap *Snap, err error) {
	err = t.lockedVM(job.node, job.vmid, func(vm *VM) error {
		if snap, err = rollbackTarget(vm, job.name); err != nil {
			return err
		}
		for _, d := range snap.Conf.drives() {
			if d.cdrom() {
				continue
			}
			if err := t.canRollback(job.node, d.volume, job.name); err != nil {
				return err
			}
		}
		if state := snap.Conf["snapstate"]; state != "" {
			return die("unable to rollback to incomplete snapshot (snapstate = %s)", state)
		}
		if err := vm.checkLock(); err != nil {
			return err
		}
		five := 5
		if err := t.stopLocked(vm, stopOptions{timeout: &five, force: true}); err != nil {
			return err
		}
		if vm.Run != nil {
			return die("unable to rollback vm %d: vm is running", vm.ID)
		}
		vm.Conf["lock"] = "rollback"
		vm.touch()
		return nil
	})
	return snap, err
}

// restoreConfig brings a snapshot's config back. Disks that it doesn't have
// become unused, those that it has aren't any longer; what was pending is
// forgotten.
func (t *task) restoreConfig(vm *VM, snap Conf, name string) error {
	known := map[string]bool{}
	for _, d := range snap.drives() {
		known[d.volume] = true
	}
	conf := Conf{}
	for k, v := range vm.Conf {
		if family(k, "unused") || k == "description" {
			conf[k] = v
		}
	}
	for _, d := range vm.Conf.drives() {
		if d.cdrom() && !d.cloudInit() || known[d.volume] || !d.onStorage() {
			continue
		}
		if d.cloudInit() {
			t.logf("found unused cloudinit disk '%s', removing it", d.volume)
			if err := t.freeDisk(vm.Node, d.volume); err != nil {
				return err
			}
			continue
		}
		if err := conf.addUnused(d.volume); err != nil {
			return err
		}
	}
	snapshotConfig(snap, conf)
	conf["parent"] = name
	for _, key := range []string{"runningmachine", "runningcpu", "running-nets-host-mtu"} {
		delete(conf, key)
	}
	if conf["vmgenid"] != "" {
		conf["vmgenid"] = t.uuid("vmgenid", strconv.Itoa(vm.ID))
	}
	dropUsed(conf, nil)
	vm.Conf, vm.Pending, vm.Deletes, vm.CloudInit = conf, Conf{}, map[string]bool{}, nil
	vm.touch()
	return nil
}
