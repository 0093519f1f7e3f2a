package pvesim

// What people do behind Proxmox' back.

// LoseConfig removes the config file of a VM, as rm does: its disks stay, and its process, if it
// runs. A VM that gets the VMID on the same node later finds that process.
func (s *State) LoseConfig(vmid int) {
	vm := s.VMs[vmid]
	if vm == nil {
		return
	}
	delete(s.VMs, vmid)
	s.leaveStray(vm)
}

// leaveStray keeps the process of a VM whose config goes while it runs.
func (s *State) leaveStray(vm *VM) {
	if vm.Run == nil {
		return
	}
	if s.Strays == nil {
		s.Strays = map[int]*VM{}
	}
	s.Strays[vm.ID] = vm
}

// LoseDisk removes the file of a VM's disk; it reports whether there was one.
func (s *State) LoseDisk(vm *VM, slot string) bool {
	storage, name, ok := splitVolID(parseDrive(slot, vm.Conf[slot]).volume)
	if !ok {
		return false
	}
	for _, key := range []SpaceKey{{Storage: storage, Node: vm.Node}, {Storage: storage}} {
		if sp := s.Spaces[key]; sp != nil && sp.Volumes[volumeKey(name)] != nil {
			sp.drop(volumeKey(name))
			return true
		}
	}
	return false
}

// takeStray gives a new VM the process of an earlier one with its VMID.
func (s *Sim) takeStray(vm *VM) {
	if old := s.state.Strays[vm.ID]; old != nil && old.Node == vm.Node && vm.Run == nil {
		vm.Run = old.Run
		delete(s.state.Strays, vm.ID)
	}
}
