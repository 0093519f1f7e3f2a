package pvesim

import (
	"context"
	"strings"
)

// plug gives a VM that really runs what an option says, or takes it away
// when the value is empty.
func (c *changer) plug(key, value string) error {
	if c.machines == nil || !concernsMachine(key) {
		return nil
	}
	conf := c.d.conf.clone()
	if conf[key] = value; value == "" {
		delete(conf, key)
	}
	return c.changeMachine(c.vm, conf)
}

// concernsMachine reports whether an option can change the devices of a VM
// that runs.
func concernsMachine(key string) bool {
	return isDriveKey[key] || family(key, "net") || key == "vcpus" || key == "memory"
}

// changeMachine makes a VM that really runs like a config, as far as that
// can be done while it runs.
func (a *actor) changeMachine(vm *VM, conf Conf) error {
	if a.machines == nil || vm.Run == nil {
		return nil
	}
	m, err := a.machine(vm, conf)
	if err != nil {
		return err
	}
	err = a.carry(func(ctx context.Context) error { return a.machines.Change(ctx, m) })
	if err != nil {
		return die("VM %d qmp command failed - %s", vm.ID, strings.TrimSpace(err.Error()))
	}
	return nil
}
