package pvesim

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// runMachine starts a VM for real; saved is the volume with the memory to go
// on from.
func (t *task) runMachine(vm *VM, saved string) error {
	m, err := t.machine(vm, vm.Conf)
	if err != nil {
		return err
	}
	if vol, _ := t.volume(vm.Node, saved); vol != nil {
		if m.Saved, err = t.diskOf(vol); err != nil {
			return err
		}
	}
	r := &Run{PID: int(t.serial("pid/"+vm.Node)) + 1000, Started: t.now(), Booted: t.now(), Mem: memoryOf(vm.Conf)}
	err = t.carry(func(ctx context.Context) error {
		return t.machines.Start(ctx, m, func() { t.machineGone(vm, r) })
	})
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			t.logf("kvm: %s", line)
		}
		return die("start failed: QEMU exited with code 1")
	}
	vm.Run = r
	if r.early { // it has ended already
		t.powerOff(vm)
	}
	vm.recount()
	t.dirty()
	return nil
}

// machineGone is called by Machines when a guest has ended.
func (s *Sim) machineGone(vm *VM, r *Run) {
	select {
	case <-s.closed:
		return
	default:
	}
	s.later(0, func(a *actor) {
		r.early = true
		if vm.Run != r {
			return
		}
		reboot := r.Reboot
		a.powerOff(vm)
		a.cleanUp(vm, reboot)
	})
}

// control has Machines do something to a VM.
func (a *actor) control(vm *VM, c Control) error {
	if a.machines == nil {
		return nil
	}
	return a.carry(func(ctx context.Context) error { return a.machines.Control(ctx, vm.ID, c) })
}

// controlLater does so without waiting for it.
func (s *Sim) controlLater(vm *VM, c Control) {
	s.later(0, func(a *actor) { _ = a.control(vm, c) }) // a guest that is gone needs none
}

// agent has the guest's agent do something. Nil arguments are none.
func (a *actor) agent(vm *VM, command string, args any) (res json.RawMessage, err error) {
	err = a.carry(func(ctx context.Context) error {
		res, err = a.machines.Agent(ctx, vm.ID, "guest-"+command, args)
		return err
	})
	if refused := new(AgentError); errors.As(err, &refused) {
		return nil, agentError("%s", refused.Text)
	}
	if errors.Is(err, ErrNoAgent) {
		return nil, die("VM %d qga command 'guest-%s' failed - got timeout", vm.ID, command)
	}
	if err != nil {
		return nil, die("VM %d qga command 'guest-%s' failed - %v", vm.ID, command, err)
	}
	return res, nil
}

// pressRealPower asks a guest that really runs to shut down.
func (a *actor) pressRealPower(vm *VM, byAgent bool) {
	if byAgent {
		if _, err := a.agent(vm, "shutdown", nil); err == nil {
			return
		}
	}
	_ = a.control(vm, PowerButton) // whoever waits sees that it doesn't end
}

// saveMachine writes the memory of a VM that really runs to a volume. It is
// stopped from then on.
func (a *actor) saveMachine(vm *VM, volid string) error {
	vol, _ := a.volume(vm.Node, volid)
	if vol == nil {
		return a.missingVolume(volid)
	}
	disk, err := a.diskOf(vol)
	if err != nil {
		return err
	}
	err = a.carry(func(ctx context.Context) error { return a.machines.Save(ctx, vm.ID, disk) })
	if err != nil {
		return die("%s", strings.TrimSpace(err.Error()))
	}
	return nil
}

// freezeMachine freezes the file systems of a guest that really runs, or
// lets them go on.
func (a *actor) freezeMachine(vm *VM, freeze bool) error {
	command := "fsfreeze-thaw"
	if freeze {
		command = "fsfreeze-freeze"
	}
	_, err := a.agent(vm, command, nil)
	return err
}
