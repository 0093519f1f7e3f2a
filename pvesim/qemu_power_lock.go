package pvesim

// lockedVM takes the lock file, finds the VM and runs fn on it.
func (a *actor) lockedVM(node string, vmid int, fn func(vm *VM) error) error {
	unlock, err := a.lockConfig(vmid)
	if err != nil {
		return err
	}
	defer unlock()
	vm, err := a.loadVM(node, vmid)
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
