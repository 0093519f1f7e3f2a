package pvesim

// removeSnapshot is the task that deletes a snapshot.
func (t *task) removeSnapshot(job *snapshotJob) error {
	if !job.force {
		unlock, err := t.lockMigration(job.vmid)
		if err != nil {
			return die("Failed to obtain guest migration lock - replication running?")
		}
		defer unlock()
	}
	err := t.lockedVM(job.node, job.vmid, func(vm *VM) error { return t.checkTPMChain(vm, job.name) })
	if err != nil {
		return err
	}
	return t.dropSnapshot(job)
}

// checkTPMChain keeps the newest snapshot of the TPM's disk on a chain while
// the VM runs.
func (t *task) checkTPMChain(vm *VM, name string) error {
	snap := vm.Snaps[name]
	if snap == nil || vm.Run == nil || vm.Conf["parent"] != name || vm.Conf["tpmstate0"] == "" {
		return nil
	}
	volid := parseDrive("tpmstate0", vm.Conf["tpmstate0"]).volume
	if snap.Conf["tpmstate0"] == "" || parseDrive("tpmstate0", snap.Conf["tpmstate0"]).volume != volid {
		return nil
	}
	if st := t.state.Storages[storageOf(volid)]; st != nil && st.chained() && formatOf(volid) == "qcow2" {
		return die("top-most snapshot of TPM state '%s' on storage with 'snapshot-as-volume-chain' cannot be removed while the VM is running.", volid)
	}
	return nil
}

// dropSnapshot removes a snapshot with its memory and its disks' snapshots;
// a half-made one when job.half is set.
func (t *task) dropSnapshot(job *snapshotJob) error {
	vm, err := t.loadVM(job.node, job.vmid)
	if err != nil {
		return err
	}
	if _, err := vm.snapshot(job.name); err != nil {
		return err
	}
	lock := "snapshot"
	if job.half == nil {
		lock = "snapshot-delete"
		err := t.lockedVM(job.node, job.vmid, func(vm *VM) error {
			if err := vm.checkLock(); err != nil {
				return err
			}
			vm.Conf["lock"] = lock
			vm.touch()
			return nil
		})
		if err != nil {
			return err
		}
	}
	// held runs fn on the snapshot with the lock file, if the VM still has
	// the lock.
	held := func(fn func(vm *VM, snap *Snap) error) error {
		return t.lockedVM(job.node, job.vmid, func(vm *VM) error {
			if vm.Conf["lock"] != lock {
				return die("encountered invalid lock, expected '%s'", lock)
			}
			snap, err := vm.snapshot(job.name)
			if err != nil {
				return err
			}
			defer vm.touch()
			return fn(vm, snap)
		})
	}
	err = held(func(vm *VM, snap *Snap) error {
		if vm.Template() {
			return die("you can't delete a snapshot if vm is a template")
		}
		snap.Conf["snapstate"] = "delete"
		return nil
	})
	if err != nil {
		return err
	}
	unused, err := t.dropSnapshotVolumes(vm, job, held)
	if err != nil {
		return err
	}
	return held(func(vm *VM, snap *Snap) error {
		parent := snap.Conf["parent"]
		confs := []Conf{vm.Conf}
		for name, other := range vm.Snaps {
			if name != job.name {
				confs = append(confs, other.Conf)
			}
		}
		for _, c := range confs {
			switch {
			case c["parent"] != job.name:
			case parent == "":
				delete(c, "parent")
			default:
				c["parent"] = parent
			}
		}
		delete(vm.Snaps, job.name)
		delete(vm.Conf, "lock")
		for _, volid := range unused {
			if err := vm.Conf.addUnused(volid); err != nil {
				return err
			}
		}
		dropUsed(vm.Conf, vm.Pending)
		return nil
	})
}

// dropSnapshotVolumes removes the saved memory and the snapshots of the
// disks. It returns the volumes, which may be in no config afterwards.
func (t *task) dropSnapshotVolumes(vm *VM, job *snapshotJob, held func(func(*VM, *Snap) error) error) (unused []string, err error) {
	snap, err := vm.snapshot(job.name)
	if err != nil {
		return nil, err
	}
	if state := snap.Conf["vmstate"]; state != "" {
		if err := t.freeDisk(job.node, state); err != nil {
			if !job.force {
				return nil, err
			}
			t.logf("%s", err)
		}
		delete(vm.Saved, state)
		if !job.force {
			err := held(func(_ *VM, snap *Snap) error { delete(snap.Conf, "vmstate"); return nil })
			if err != nil {
				return nil, err
			}
		}
	}
	if job.half == nil {
		t.sleep(t.world.Timing.Snapshot.D())
	}
	for _, d := range snap.Conf.clone().drives() {
		if d.cdrom() {
			continue
		}
		if job.half == nil || job.half[d.key] {
			if err := t.deleteVolumeSnapshot(job.node, d.volume, job.name); err != nil {
				if !job.force {
					return nil, err
				}
				t.logf("%s", err)
			} else {
				unused = append(unused, d.volume)
			}
		}
		if !job.force {
			err := held(func(_ *VM, snap *Snap) error {
				delete(snap.Conf, d.key)
				return snap.Conf.addUnused(d.volume)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return unused, nil
}
