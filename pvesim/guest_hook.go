package pvesim

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/pvesim/guestos"
)

// hook runs the VM's hook script. An error before the start stops it.
func (t *task) hook(vm *VM, phase string) error {
	volid := vm.Conf["hookscript"]
	if volid == "" {
		return nil
	}
	if err := t.runHook(vm, volid, phase); err != nil {
		return die("hookscript error for %d on %s: %s\n", vm.ID, phase, err)
	}
	return nil
}

// hookWarn runs the hook script where its errors change nothing.
func (t *task) hookWarn(vm *VM, phase string) {
	if err := t.hook(vm, phase); err != nil {
		t.logf("%s", strings.TrimRight(err.Error(), "\n"))
	}
}

func (t *task) runHook(vm *VM, volid, phase string) error {
	vol, _ := t.volume(vm.Node, volid)
	if vol == nil {
		return fmt.Errorf("script '%s' does not exist", volid)
	}
	if t.machines != nil {
		return t.runRealHook(vm, volid, phase)
	}
	script, err := t.blobText(vol)
	if err != nil {
		return fmt.Errorf("read script '%s': %w", volid, err)
	}
	lines, code := guestos.HookOutput(script, vm.ID, phase)
	for _, line := range lines {
		t.logf("%s", line)
	}
	if code != 0 {
		return fmt.Errorf("command '%s %d %s' failed: exit code %d", t.volumePath(volid), vm.ID, phase, code)
	}
	return nil
}
