package pvesim

import (
	"strconv"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// startOptions say how a VM is started.
type startOptions struct {
	skipLock bool
	timeout  time.Duration // for QEMU to come up; 0: as Proxmox guesses
	state    string        // volume with the memory to go on from (rollback)
}

// stopOptions say how a VM is stopped.
type stopOptions struct {
	skipLock bool
	timeout  *int // seconds; nil: the VM's own, or 60
	shutdown bool // ask the guest, instead of pulling the plug
	force    bool // pull the plug when the time is over
}

// forkStart starts a VM in a task of its own, or asks the high-availability
// manager to do it.
func (s *Sim) forkStart(node string, vmid int, who *access.Identity) {
	s.forkStartWith(node, vmid, who, startOptions{})
}

func (s *Sim) forkStartWith(node string, vmid int, who *access.Identity, o startOptions) string {
	if s.haManaged(vmid) {
		return s.fork(node, "hastart", strconv.Itoa(vmid), who, func(t *task) error {
			t.logf("Requesting HA start for VM %d", vmid)
			return t.requestHA(vmid, "started")
		})
	}
	return s.fork(node, "qmstart", strconv.Itoa(vmid), who, func(t *task) error { return t.startVM(node, vmid, o) })
}

// startVM starts a VM, with its lock file held.
func (t *task) startVM(node string, vmid int, o startOptions) error {
	return t.lockedVM(node, vmid, func(vm *VM) error {
		if vm.Template() {
			return die("you can't start a vm if it's a template")
		}
		if vm.Conf["lock"] == "backup" && vm.Run != nil {
			return t.resumeLocked(vm, true)
		}
		if !o.skipLock && vm.Conf["lock"] != "suspended" {
			if err := vm.checkLock(); err != nil {
				return err
			}
		}
		if vm.Run != nil {
			return die("VM %d already running", vmid)
		}
		return t.startLocked(vm, o)
	})
}

// startLocked starts a VM whose lock file is held and which is known to be
// off: apply what is pending, check that all it needs is there, run QEMU.
func (t *task) startLocked(vm *VM, o startOptions) error {
	resume := o.state == "" && (vm.Conf["lock"] == "suspended" || vm.Conf["vmstate"] != "")
	if err := t.prepareConfig(vm, o.state == "" && !resume); err != nil {
		return err
	}
	if err := t.hook(vm, "pre-start"); err != nil {
		return err
	}
	state := o.state
	if resume {
		t.logf("Resuming suspended VM")
		state = vm.Conf["vmstate"]
	}
	defer func() {
		if vm.Run == nil {
			vm.Devices = nil
		}
	}()
	if err := t.checkStart(vm, state != ""); err != nil {
		return err
	}
	if err := t.runQEMU(vm, o.timeout, state); err != nil {
		return err
	}
	if saved := vm.Saved[state]; saved != nil {
		t.goOn(vm, saved)
	}
	if resume {
		t.logf("Resumed VM, removing state")
		if err := t.dropState(vm); err != nil {
			return err
		}
	}
	t.hookWarn(vm, "post-start")
	return nil
}

// runQEMU lets the process start, from the memory that a volume has if one is
// named. Proxmox gives up waiting after a while; the VM may come up all the
// same.
func (t *task) runQEMU(vm *VM, timeout time.Duration, saved string) error {
	needs := t.world.Timing.Start.D()
	if timeout == 0 {
		timeout = max(30*time.Second, time.Duration(memoryOf(vm.Conf)>>30)*time.Second)
	}
	t.sleep(min(needs, timeout))
	if t.machines != nil {
		return t.runMachine(vm, saved)
	}
	t.powerOn(vm)
	t.dirty()
	if needs > timeout {
		return die("start failed: command '/usr/bin/kvm -id %d' failed: got timeout", vm.ID)
	}
	return nil
}

// stopVM stops a VM, with its lock file held. One that is off already is
// fine.
func (t *task) stopVM(node string, vmid int, o stopOptions) error {
	unlock, err := t.lockConfig(vmid)
	if err != nil {
		return err
	}
	defer unlock()
	vm, err := t.loadVM(node, vmid)
	if err != nil {
		return noGuestOnNode(node, vmid)
	}
	return t.stopLocked(vm, o)
}

func (t *task) stopLocked(vm *VM, o stopOptions) error {
	if vm.Run == nil {
		return nil
	}
	if !o.skipLock {
		if err := vm.checkLock(); err != nil {
			return err
		}
	}
	timeout := 60
	if down, ok := property(vm.Conf["startup"], "down", "order"); ok && o.shutdown {
		if n, err := strconv.Atoi(down); err == nil && n > 0 {
			timeout = n
		}
	}
	if o.timeout != nil {
		timeout = *o.timeout
	}
	t.hookWarn(vm, "pre-stop")
	r := vm.Run
	if r == nil {
		return nil
	}
	if o.shutdown {
		t.pressPower(vm)
	} else {
		t.quit(vm, r)
	}
	if !t.waitFor(r.gone(), time.Duration(timeout)*time.Second) {
		if !o.force {
			return die("VM quit/powerdown failed - got timeout")
		}
		t.logf("VM still running - terminating now with SIGTERM")
		t.quit(vm, r)
		t.waitFor(r.gone(), 10*time.Second)
		if vm.Run == r {
			t.logf("VM still running - terminating now with SIGKILL")
			if err := t.control(vm, Kill); err != nil {
				return err
			}
			t.powerOff(vm)
		}
	}
	t.stopped(vm)
	return nil
}

// pressPower asks the guest to shut down, through its agent if that answers.
func (t *task) pressPower(vm *VM) {
	r := vm.Run
	heard, byAgent := vm.Conf["acpi"] != "0", false
	if agentEnabled(vm.Conf) {
		if t.agentAnswers(vm) {
			heard, byAgent = true, true
		} else {
			t.logf("QEMU Guest Agent is not running - VM %d qga command 'guest-ping' failed - got timeout", vm.ID)
		}
	}
	switch {
	case vm.Run != r || !heard:
	case t.machines != nil:
		t.pressRealPower(vm, byAgent)
	default:
		t.askShutdown(vm)
	}
}

// quit lets QEMU end itself.
func (s *Sim) quit(vm *VM, r *Run) {
	if s.machines != nil {
		s.controlLater(vm, Quit)
		return
	}
	s.later(s.world.Timing.Stop.D(), func(a *actor) {
		if vm.Run != r {
			return
		}
		reboot := r.Reboot
		a.powerOff(vm)
		a.cleanUp(vm, reboot)
	})
}

// stopped does what is left to do once the process has ended.
func (t *task) stopped(vm *VM) {
	if err := t.applyPending(vm, t.logf); err != nil {
		t.logf("%s", err)
	}
	if t.atLeast(9) { // before, the event daemon runs it: not in the log
		t.hookWarn(vm, "post-stop")
	}
}

// rebootVM shuts the guest down; the event daemon starts it again, in a task
// of its own.
func (t *task) rebootVM(node string, vmid int, timeout *int) error {
	unlock, err := t.lockConfig(vmid)
	if err != nil {
		return err
	}
	defer unlock()
	vm, err := t.loadVM(node, vmid)
	if err != nil {
		return noGuestOnNode(node, vmid)
	}
	if vm.Run == nil {
		return nil
	}
	r := vm.Run
	r.Reboot = true
	done := false
	defer func() {
		if !done {
			r.Reboot = false
		}
	}()
	if err := t.stopLocked(vm, stopOptions{timeout: timeout, shutdown: true}); err != nil {
		return err
	}
	done = true
	return nil
}

// noGuestOnNode is what Proxmox says of a missing VM when it only looks for
// the file.
func noGuestOnNode(node string, vmid int) *apiError {
	return die("unable to find configuration file for VM %d on node '%s'", vmid, node)
}
