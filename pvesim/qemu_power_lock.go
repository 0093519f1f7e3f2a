package pvesim

import "fmt"

// waitLogged takes a VM's lock file, and says so in the log when it has to
// wait.
func (t *task) waitLogged(vmid int, take func() (func(), error)) (unlock func(), err error) {
	busy := t.locks[fmt.Sprintf("/var/lock/qemu-server/lock-%d.conf", vmid)] != nil
	if busy {
		t.logf("trying to acquire lock...")
	}
	unlock, err = take()
	if err == nil && busy {
		t.logf(" OK")
	}
	return unlock, err
}

// lockVM takes a VM's lock file.
func (t *task) lockVM(vmid int) (unlock func(), err error) {
	return t.waitLogged(vmid, func() (func(), error) { return t.lockConfig(vmid) })
}

// lockedVM takes the lock file, finds the VM and runs fn on it.
func (t *task) lockedVM(node string, vmid int, fn func(vm *VM) error) error {
	unlock, err := t.lockVM(vmid)
	if err != nil {
		return err
	}
	defer unlock()
	vm, err := t.loadVM(node, vmid)
	if err != nil {
		return err
	}
	return fn(vm)
}

// trap runs fn and makes an error of a signal that comes meanwhile, so that
// the actor can clean up; further signals interrupt it again.
func (a *actor) trap(fn func() error) error { return a.trapAs("received interrupt", fn) }

func (a *actor) trapAs(text string, fn func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, ok := p.(interrupted); !ok {
			panic(p)
		}
		select {
		case <-a.closed: // the simulator itself ends
			panic(p)
		default:
		}
		a.stop = make(chan struct{})
		err = die("%s", text)
	}()
	return fn()
}
