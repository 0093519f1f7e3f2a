package pvesim

import (
	"fmt"
	"strings"
	"time"
)

// notRunning is what the monitor says of a VM that has gone meanwhile.
func notRunning(vmid int) error { return die("VM %d not running", vmid) }

func (t *task) resetVM(node string, vmid int, skipLock bool) error {
	return t.lockedVM(node, vmid, func(vm *VM) error {
		if !skipLock {
			if err := vm.checkLock(); err != nil {
				return err
			}
		}
		if vm.Run == nil {
			return notRunning(vmid)
		}
		if t.machines != nil {
			return t.control(vm, ResetButton)
		}
		t.boot(vm)
		if !vm.Run.Paused.IsZero() {
			vm.Run.Paused = t.now()
		}
		return nil
	})
}

// pauseVM stops the CPUs. A backup's lock is no hindrance.
func (t *task) pauseVM(node string, vmid int, skipLock bool) error {
	return t.lockedVM(node, vmid, func(vm *VM) error {
		if !skipLock && vm.Conf["lock"] != "backup" {
			if err := vm.checkLock(); err != nil {
				return err
			}
		}
		if vm.Run == nil {
			return notRunning(vmid)
		}
		if err := t.control(vm, StopCPUs); err != nil {
			return err
		}
		vm.Run.pause(t.now())
		return nil
	})
}

func (t *task) resumeVM(node string, vmid int, skipLock bool) error {
	return t.lockedVM(node, vmid, func(vm *VM) error { return t.resumeLocked(vm, skipLock) })
}

// resumeLocked lets a paused VM go on; its lock file is held.
func (t *task) resumeLocked(vm *VM, skipLock bool) error {
	if vm.Run == nil {
		return notRunning(vm.ID)
	}
	if vm.Template() {
		return die("VM %d is a template and cannot be resumed!", vm.ID)
	}
	if vm.Run.qmpStatus() == "running" {
		return nil
	}
	if !skipLock && vm.Conf["lock"] != "backup" {
		if err := vm.checkLock(); err != nil {
			return err
		}
	}
	if err := t.control(vm, ContinueCPUs); err != nil {
		return err
	}
	vm.Run.Asleep = false
	vm.Run.cont(t.now())
	t.watchOff(vm)
	return nil
}

// suspendVM saves the memory to a storage and ends the VM; the next start
// goes on from there.
func (t *task) suspendVM(node string, vmid int, skipLock bool, storage string) error {
	var volid string
	err := t.lockedVM(node, vmid, func(vm *VM) error {
		backup := vm.Conf["lock"] == "backup"
		if !skipLock && !backup {
			if err := vm.checkLock(); err != nil {
				return err
			}
		}
		if backup {
			return die("cannot suspend to disk during backup")
		}
		if err := checkMemoryCanMove(vm.Conf); err != nil {
			return err
		}
		if vm.Run == nil {
			return notRunning(vmid)
		}
		conf, err := t.allocState(vm, "suspend-"+t.now().UTC().Format("2006-01-02"), storage)
		if err != nil {
			return err
		}
		for k, v := range conf {
			vm.Conf[k] = v
		}
		volid = conf["vmstate"]
		vm.Conf["lock"] = "suspending"
		vm.touch()
		return nil
	})
	if err != nil {
		return err
	}
	failed := t.trap(func() error {
		vm := t.state.VMs[vmid]
		t.sleep(t.saveTime(vm))
		if vm == nil || vm.Run == nil {
			return notRunning(vmid)
		}
		t.logf("State saved, quitting")
		return nil
	})
	return t.lockedVM(node, vmid, func(vm *VM) error {
		switch {
		case failed != nil:
			// The lock stays, to show that something went wrong.
			if err := t.dropState(vm); err != nil {
				t.logf("%s", err)
			}
			vm.Conf["lock"] = "suspending"
			return failed
		case vm.Conf["lock"] != "suspending":
			return die("lock changed unexpectedly")
		case vm.Run == nil:
			return notRunning(vmid)
		}
		if err := t.saveMemory(vm, volid); err != nil {
			return err
		}
		if err := t.control(vm, Kill); err != nil {
			return err
		}
		t.powerOff(vm)
		vm.Conf["lock"] = "suspended"
		vm.touch()
		return nil
	})
}

// saveTime is how long it takes to save the memory of a VM.
func (s *Sim) saveTime(vm *VM) time.Duration {
	if vm == nil {
		return 0
	}
	return perGiB(s.world.Timing.SnapshotPerGiB, memoryOf(vm.Conf))
}

// checkMemoryCanMove refuses VMs whose memory can't be saved or moved while
// they run.
func checkMemoryCanMove(c Conf) error {
	if blockers := memoryBlockers(c); len(blockers) > 0 {
		return die("Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: %s", strings.Join(blockers, ", "))
	}
	return nil
}

func memoryBlockers(c Conf) []string {
	var blockers []string
	for _, key := range []string{"amd-sev", "intel-tdx"} {
		if c[key] != "" {
			blockers = append(blockers, key)
		}
	}
	for i := range 10 {
		if c[fmt.Sprintf("virtiofs%d", i)] != "" {
			return append(blockers, "virtiofs")
		}
	}
	return blockers
}

// stateStorage is where the memory of the VM is saved when nobody says.
func (s *Sim) stateStorage(vm *VM) string {
	if st := vm.Conf["vmstatestorage"]; st != "" {
		return st
	}
	shared, local := "", ""
	for _, d := range vm.Conf.drives() {
		if !d.onStorage() || d.cdrom() {
			continue
		}
		id, _, _ := splitVolID(d.volume)
		st := s.state.Storages[id]
		if st == nil {
			continue
		}
		dst := &local
		if st.Shared() {
			dst = &shared
		}
		if *dst == "" || st.plugin().files {
			*dst = id
		}
	}
	switch {
	case shared != "":
		return shared
	case local != "":
		return local
	}
	return "local"
}

// allocState makes the volume for the VM's memory. It returns the options
// that describe the saved state.
func (t *task) allocState(vm *VM, name, storage string) (Conf, error) {
	if storage == "" {
		storage = t.stateStorage(vm)
	}
	st := t.state.Storages[storage]
	if st == nil {
		return nil, die("storage '%s' does not exist", storage)
	}
	file := fmt.Sprintf("vm-%d-state-%s", vm.ID, name)
	if st.plugin().files {
		file += ".raw"
	}
	mib := memoryOf(vm.Conf)>>20*2 + 500
	volid, err := t.allocDisk(vm.Node, storage, vm.ID, "raw", file, mib*1024, t.logf)
	if err != nil {
		return nil, err
	}
	if vm.Run == nil {
		return nil, die("cannot obtain PID for VM %d!", vm.ID)
	}
	conf := Conf{"vmstate": volid, "runningmachine": t.runningMachine(vm.Conf), "runningcpu": runningCPU(vm.Conf)}
	if mtus := hostMTUs(vm.Conf); mtus != "" && t.atLeast(9) {
		conf["running-nets-host-mtu"] = mtus
	}
	return conf, nil
}

// runningMachine is QEMU's name for the machine that the VM is.
func (s *Sim) runningMachine(c Conf) string {
	typ, _ := property(c["machine"], "type", "type")
	version := s.qemuVersion()
	if i := strings.LastIndexByte(version, '.'); i > 0 {
		version = version[:i]
	}
	switch typ {
	case "q35":
		return "pc-q35-" + version + "+pve0"
	case "", "pc":
		return "pc-i440fx-" + version + "+pve0"
	}
	return typ
}

// runningCPU is the CPU as it stands in QEMU's command line.
func runningCPU(c Conf) string {
	model, ok := property(c["cpu"], "cputype", "cputype")
	if !ok {
		return "kvm64,enforce,+kvm_pv_eoi,+kvm_pv_unhalt,+lahf_lm,+sep"
	}
	return model + ",+kvm_pv_eoi,+kvm_pv_unhalt"
}

// hostMTUs lists the MTUs that the virtio networks run with.
func hostMTUs(c Conf) string {
	var out []string
	for i := range 32 {
		v := c[fmt.Sprintf("net%d", i)]
		if bridge, _ := property(v, "bridge", ""); bridge != "" && strings.HasPrefix(v, "virtio") {
			out = append(out, fmt.Sprintf("net%d=1500", i))
		}
	}
	return strings.Join(out, ",")
}
