package pvesim

import (
	"errors"
	"fmt"
	"strings"
)

// migration is a move of a VM to another node.
type migration struct {
	node, target string
	vmid         int
	online       bool
	force        bool
	withDisks    bool
	conntrack    bool
	storages     storageMap

	moved    map[string]string // volumes: old id → new id
	problems bool
}

// say logs a line of a migration: with the time.
func (t *task) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		t.logf("%s %s", t.now().UTC().Format("2006-01-02 15:04:05"), strings.TrimRight(line, "\n"))
	}
}

func (t *task) sayError(format string, args ...any) { t.say("ERROR: "+format, args...) }

// migrate is the migration's task.
func (t *task) migrate(job *migration) error {
	unlock, err := t.lockMigration(job.vmid)
	if err != nil {
		return err
	}
	defer unlock()
	start := t.now()
	took := func() string {
		s := int(t.now().Sub(start).Seconds())
		return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	job.moved = map[string]string{}
	if err := t.moveLocked(job); err != nil {
		t.sayError("migration aborted (duration %s): %s", took(), err)
		return die("migration aborted")
	}
	if job.problems {
		t.sayError("migration finished with problems (duration %s)", took())
		return die("migration problems")
	}
	t.say("migration finished successfully (duration %s)", took())
	return nil
}

// moveLocked moves the VM with its lock file held.
func (t *task) moveLocked(job *migration) error {
	unlock, err := t.lockConfig(job.vmid)
	if err != nil {
		return err
	}
	defer unlock()
	vm, err := t.loadVM(job.node, job.vmid)
	if err != nil {
		return err
	}
	if err := t.prepareMove(vm, job); err != nil {
		return err
	}
	running := vm.Run
	err = t.trapAs("interrupted by signal", func() error { return t.copyOut(vm, job) })
	if err != nil {
		t.sayError("%s", err)
		t.say("aborting phase 1 - cleanup resources")
		t.giveUp(vm, job)
		return err
	}
	if running != nil {
		err := t.trapAs("interrupted by signal", func() error { return t.moveMemory(vm, job) })
		if err != nil {
			t.sayError("online migrate failure - %s", err)
			t.say("aborting phase 2 - cleanup resources")
			t.giveUp(vm, job)
			job.problems = true
			return nil
		}
	}
	t.arrive(vm, job)
	return nil
}

// prepareMove checks the VM and the target once more.
func (t *task) prepareMove(vm *VM, job *migration) error {
	if err := vm.checkLock(); err != nil {
		return err
	}
	if vm.Run != nil {
		if !job.online {
			return die("can't migrate running VM without --online")
		}
		if !job.conntrack && t.atLeast(9) {
			t.say("conntrack state migration not supported or disabled, active connections might get dropped")
		}
	}
	local, mapped, missing := t.localResources(vm)
	var blocking, names []string
	for _, key := range local {
		if mapped[key] == nil {
			blocking = append(blocking, key)
		}
	}
	switch {
	case len(blocking) > 0 && (vm.Run != nil || !job.force):
		return die("can't migrate VM which uses local devices: %s", strings.Join(blocking, ", "))
	case len(blocking) > 0:
		t.say("migrating VM which uses local devices")
	}
	if len(mapped) > 0 {
		for _, key := range sortedKeys(mapped) {
			if m := mapped[key].(map[string]any); m["live-migration"] == nil {
				names = append(names, fmt.Sprintf("%s:%v", key, m["name"]))
			}
		}
		switch lacking := missing[job.target]; {
		case len(lacking) > 0:
			return die("can't migrate to '%s': missing mapped devices %s", job.target, strings.Join(lacking, ", "))
		case vm.Run != nil && len(names) > 0:
			return die("can't live migrate running VM which uses following mapped devices: %s", strings.Join(names, ", "))
		}
		t.say("migrating VM which uses mapped local devices")
	}
	for _, r := range vm.volumeRefs() {
		id, _, ok := splitVolID(r.volid)
		if !ok {
			continue
		}
		st, err := t.storageOn(vm.Node, id)
		if err != nil {
			return err
		}
		if !st.Shared() {
			id = job.storages.target(id)
		}
		if err := t.checkContent(job.target, id, r.volid); err != nil {
			return err
		}
	}
	if to := t.state.Nodes[job.target]; to == nil || to.State != Online {
		ip := ""
		if to != nil {
			ip = to.IP
		}
		t.say("# /usr/bin/ssh -e none -o 'BatchMode=yes' -o 'HostKeyAlias=%s' root@%s /bin/true", job.target, ip)
		t.say("ssh: connect to host %s port 22: No route to host", ip)
		return die("Can't connect to destination address using public key")
	}
	return nil
}

// copyOut locks the VM and copies local disks that aren't in use.
func (t *task) copyOut(vm *VM, job *migration) error {
	t.say("starting migration of VM %d to node '%s' (%s)", vm.ID, job.target, t.state.Nodes[job.target].IP)
	vm.Conf["lock"] = "migrate"
	vm.touch()
	t.sleep(t.world.Timing.Migrate.D())
	volumes, err := t.scanLocal(vm, job)
	if err != nil {
		return fmt.Errorf("Problem found while scanning volumes - %w", err)
	}
	said := false
	for _, v := range volumes {
		if vm.Run != nil && v.attached && !v.tpm && !v.cloudInit {
			continue
		}
		if !said {
			t.say("copying local disk images")
			said = true
		}
		if err := t.sendVolume(vm, job, v, false); err != nil {
			to := job.storages.target(storageOf(v.volid))
			return fmt.Errorf("storage migration for '%s' to storage '%s' failed - %w", v.volid, to, err)
		}
	}
	return nil
}

// moveMemory moves a VM that runs: local disks in use, then the memory.
func (t *task) moveMemory(vm *VM, job *migration) error {
	r := vm.Run
	if r == nil {
		return notRunning(vm.ID)
	}
	t.say("starting VM %d on remote node '%s'", vm.ID, job.target)
	if err := t.startThere(vm, job.target); err != nil {
		t.say("[%s] %s", job.target, err)
		return errors.New("remote command failed with exit code 255")
	}
	t.say("start remote tunnel")
	t.say("ssh tunnel ver 1")
	first := true
	for _, v := range vm.volumeRefs() {
		st := t.state.Storages[storageOf(v.volid)]
		if job.moved[v.volid] != "" || !v.attached || v.cdrom || st == nil || st.Shared() {
			continue
		}
		if first {
			t.say("starting storage migration")
			first = false
		}
		if err := t.sendVolume(vm, job, v, true); err != nil {
			return err
		}
	}
	uri := fmt.Sprintf("unix:/run/qemu-server/%d.migrate", vm.ID)
	t.say("starting online/live migration on %s", uri)
	t.say("set migration capabilities")
	t.say("migration downtime limit: 100 ms")
	t.say("set migration parameters")
	t.say("start migrate command to %s", uri)
	t.sleep(perGiB(t.world.Timing.MigratePerGiB, r.Mem))
	if vm.Run != r {
		return errors.New("aborting, VM is gone")
	}
	t.say("average migration speed: 1.0 GiB/s - downtime 50 ms")
	t.say("migration completed, transferred %s VM-state", renderBytes(r.Mem/4))
	return nil
}

// startThere checks that the VM can start on the target.
func (t *task) startThere(vm *VM, target string) error {
	for i := range maxNets {
		if bridge, ok := property(vm.Conf[fmt.Sprintf("net%d", i)], "bridge", ""); ok && !t.hasBridge(target, bridge) {
			return die("bridge '%s' does not exist", bridge)
		}
	}
	node := t.state.Nodes[target]
	if cpus := vm.Conf.number("sockets", 1) * vm.Conf.number("cores", 1); cpus > node.CPUs {
		return die("MAX %d vcpus allowed per VM on this node", node.CPUs)
	}
	if memoryOf(vm.Conf) > node.Memory {
		return die("start failed: QEMU exited with code 1")
	}
	return nil
}

// arrive makes the target the VM's node: config, disks, process.
func (t *task) arrive(vm *VM, job *migration) {
	for old, now := range job.moved {
		vm.renameVolume(old, now)
		t.discardTwin(job.node, old, job.target, now)
	}
	vm.Node = job.target
	delete(vm.Conf, "lock")
	vm.touch()
	if vm.Run != nil {
		vm.Run.PID = int(t.serial("pid/"+job.target)) + 1000
		vm.Run.Started = t.now()
		if err := t.reservePCI(vm); err != nil {
			t.warnf("%s", err)
		}
	}
	t.dirty()
}

// discardTwin removes a volume whose bytes another one goes on with.
func (t *task) discardTwin(node, volid, otherNode, other string) {
	v, _ := t.volume(node, volid)
	twin, _ := t.volume(otherNode, other)
	if v == nil || twin == nil {
		return
	}
	if v.Blob == twin.Blob {
		v.Blob = ""
	}
	if v.Disk == twin.Disk {
		v.Disk = ""
	}
	t.abandon(node, volid)
}

// giveUp leaves the VM where it is.
func (t *task) giveUp(vm *VM, job *migration) {
	for old, now := range job.moved {
		from, _ := t.volume(job.node, old)
		to, _ := t.volume(job.target, now)
		if from != nil && to != nil && to.Disk != "" { // the guest has it by now
			from.Disk, to.Disk = to.Disk, from.Disk
		}
		t.discardTwin(job.target, now, job.node, old)
	}
	job.moved = map[string]string{}
	delete(vm.Conf, "lock")
	vm.touch()
}
