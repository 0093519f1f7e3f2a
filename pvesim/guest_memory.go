package pvesim

// saveMemory keeps what the guest is about, for a volume that its memory was
// written to.
func (a *actor) saveMemory(vm *VM, volid string) error {
	if a.machines != nil {
		return a.saveMachine(vm, volid)
	}
	saved := *vm.Run
	saved.ended = nil
	saved.Reboot = false
	saved.Guest = vm.Run.Guest.Clone()
	saved.pause(a.now())
	if vm.Saved == nil {
		vm.Saved = map[string]*Run{}
	}
	vm.Saved[volid] = &saved
	return nil
}

// goOn lets a VM that was just started go on from saved memory.
func (s *Sim) goOn(vm *VM, saved *Run) {
	r := *saved
	r.PID, r.Started, r.Mem, r.ended = vm.Run.PID, vm.Run.Started, vm.Run.Mem, vm.Run.ended
	r.Guest = saved.Guest.Clone()
	r.cont(s.now())
	*vm.Run = r
	s.watchOff(vm)
}

// dropState frees the volume that a suspended VM's memory was in.
func (a *actor) dropState(vm *VM) error {
	volid := vm.Conf["vmstate"]
	for _, key := range []string{"lock", "vmstate", "running-nets-host-mtu", "runningmachine", "runningcpu"} {
		delete(vm.Conf, key)
	}
	delete(vm.Saved, volid)
	vm.touch()
	if volid == "" {
		return nil
	}
	return a.freeDisk(vm.Node, volid)
}
