package pvesim

import (
	"fmt"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// gone is closed when the VM's process has ended.
func (r *Run) gone() chan struct{} {
	if r.ended == nil {
		r.ended = make(chan struct{})
	}
	return r.ended
}

// powerOff ends the VM's process at once.
func (s *Sim) powerOff(vm *VM) {
	if vm.Run != nil {
		close(vm.Run.gone())
	}
	vm.Run, vm.Devices = nil, nil
	vm.recount()
	s.dirty()
	s.haLooksAfter(vm.ID, haTries)
}

// later runs fn, with the state locked, once d has passed; never, if the
// simulator is closed before.
func (s *Sim) later(d time.Duration, fn func(a *actor)) {
	s.workers.Add(1)
	go func() {
		defer s.workers.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		defer func() {
			if p := recover(); p != nil {
				if _, ok := p.(interrupted); !ok {
					panic(p)
				}
			}
		}()
		a := &actor{Sim: s}
		a.sleep(d)
		fn(a)
	}()
}

// askShutdown presses the power button, or has the agent do it. A guest that
// is booting obeys when it is up; one without a system never does.
func (s *Sim) askShutdown(vm *VM) {
	if s.machines != nil {
		s.controlLater(vm, PowerButton)
		return
	}
	r, now := vm.Run, s.now()
	if r.Booted.IsZero() || r.Asleep || !r.Paused.IsZero() || !r.Off.IsZero() {
		return
	}
	if r.Booted.After(now) {
		now = r.Booted
	}
	r.Off = now.Add(s.world.Timing.Shutdown.D())
	s.watchOff(vm)
}

// watchOff waits for the time when the guest will have shut itself down.
func (s *Sim) watchOff(vm *VM) {
	r := vm.Run
	if r == nil || r.Off.IsZero() {
		return
	}
	s.later(r.Off.Sub(s.now()), func(a *actor) {
		if vm.Run != r || !r.Paused.IsZero() || r.Off.IsZero() || a.now().Before(r.Off) {
			return
		}
		reboot := r.Reboot
		a.powerOff(vm)
		a.cleanUp(vm, reboot)
	})
}

// resumeGuests looks after the guests of a state that was read from disk.
func (s *Sim) resumeGuests() {
	for _, vm := range s.state.VMs {
		if s.machines != nil { // it ended with the earlier run
			vm.Run, vm.Devices = nil, nil
		}
		if vm.Run != nil && vm.Run.Guest != nil {
			vm.Run.Guest.MakeMaps()
		}
		s.watchOff(vm)
	}
}

// cleanUp is what happens when a VM's process has ended: the event daemon
// waits until whoever holds the lock file is done, and starts the VM again
// if it went down for a reboot. So does the high-availability manager, if
// the VM should run.
func (a *actor) cleanUp(vm *VM, reboot bool) {
	unlock, err := a.lockConfigFor(vm.ID, time.Minute)
	if err != nil {
		return
	}
	defer unlock()
	if a.state.VMs[vm.ID] != vm || vm.Run != nil || vm.Conf["lock"] == "rollback" {
		return
	}
	if reboot {
		a.forkStart(vm.Node, vm.ID, &access.Identity{User: access.Root})
		return
	}
	if a.haManaged(vm.ID) {
		a.haActs(fmt.Sprintf("vm:%d", vm.ID))
	}
}
