package pvesim

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// apply makes the change; the VM's lock file is held. Each option is first
// noted as pending, then all are applied as far as the VM's state allows.
func (ch *change) apply(a *actor, logf func(string, ...any)) error {
	vm, err := ch.check(a.Sim, true)
	if err != nil {
		return err
	}
	logf("update VM %d: %s", ch.vmid, ch.logLine)
	a.sleep(a.world.Timing.Config.D())
	c := &changer{actor: a, vm: vm, who: ch.who, d: vm.draft(), logf: logf, errs: schema.Errors{}}
	ch.bootOrder = orderOf(vm.Conf["boot"])
	modified := map[string]bool{}
	for _, key := range ch.deletes {
		modified[key] = true
		if err := ch.remove(c, key, modified); err != nil {
			return err
		}
	}
	for _, key := range ch.set.keys() {
		modified[key] = true
		c.d = vm.draft()
		value, hasValue := ch.set.conf[key]
		if old, ok := c.d.pending[key]; ok && hasValue && old == value {
			continue
		}
		if err := ch.note(c, key, value, hasValue, modified); err != nil {
			return err
		}
		delete(c.d.deletes, key)
		if err := a.store(vm, c.d); err != nil {
			return err
		}
	}
	c.d = vm.draft()
	if c.d.cleanup() {
		if err := a.store(vm, c.d); err != nil {
			return err
		}
	}
	if !c.d.hasPending() {
		return nil
	}
	if vm.Run != nil {
		err = c.hotplug(modified)
	} else {
		err = c.apply(ch.noDrive)
	}
	if err == nil && len(c.errs) > 0 {
		err = badParams(c.errs)
	}
	return err
}

// orderOf lists the devices of a boot order.
func orderOf(boot string) []string {
	order, _ := property(boot, "order", "")
	return schema.SplitList(order)
}

// needDriveChange checks the privilege for a kind of drive.
func (ch *change) needDriveChange(c *changer, key, value string) error {
	switch d := parseDrive(key, value); {
	case d.cloudInit():
		return c.needVM(ch.who, ch.vmid, "", "VM.Config.Cloudinit", "VM.Config.CDROM")
	case d.cdrom():
		return c.needVM(ch.who, ch.vmid, "", "VM.Config.CDROM")
	}
	return c.needVM(ch.who, ch.vmid, "", "VM.Config.Disk")
}

// note puts a new value into the pending section.
func (ch *change) note(c *changer, key, value string, hasValue bool, modified map[string]bool) error {
	d := c.d
	old, had := d.conf[key]
	device := map[string]func(*access.Identity, int, string, string, string) error{
		"usb": c.needUSB, "hostpci": c.needHostPCI, "rng": c.needRNG, "virtiofs": c.needShare,
	}
	switch {
	case isDriveKey[key]:
		return ch.noteDrive(c, key, value, modified)
	case family(key, "serial"):
		if value == "socket" && (!had || old == "socket") {
			if err := c.needVM(ch.who, ch.vmid, "", "VM.Config.HWType"); err != nil {
				return err
			}
		} else if !ch.who.Root() {
			return die("only root can modify '%s' config for real devices", key)
		}
	case key == "vga":
		if err := checkClipboard(value); err != nil {
			return err
		}
	case key == "tags":
		if err := c.needTags(ch.who, ch.vmid, old, value); err != nil {
			return err
		}
		d.pending[key] = c.uniqueTags(value)
		return nil
	case family(key, "net"):
		if had {
			if err := c.needNets(ch.who, Conf{key: old}); err != nil {
				return err
			}
		}
	case key == "machine":
		if err := c.checkMachine(value); err != nil {
			return err
		}
	case key == "ostype":
		ch.pinMachine(c, value, modified)
	case key == "cipassword":
		d.conf[key] = c.hidePassword(ch.vmid, value, d.conf["ostype"])
		return nil
	}
	if need := device[strings.TrimRight(key, "0123456789")]; need != nil {
		if had {
			if err := need(ch.who, ch.vmid, "", key, old); err != nil {
				return err
			}
		}
		if err := need(ch.who, ch.vmid, "", key, value); err != nil {
			return err
		}
	}
	if !hasValue {
		return die("unable to parse value of '%s' - got undefined value", key)
	}
	d.pending[key] = value
	if key == "boot" {
		return ch.noteBoot(c, value)
	}
	return nil
}

// noteDrive makes the disk that a drive asks for and notes it.
func (ch *change) noteDrive(c *changer, key, value string, modified map[string]bool) error {
	d := c.d
	if old, ok := d.conf[key]; ok && truthy(old) {
		if err := ch.needDriveChange(c, key, old); err != nil {
			return err
		}
		if key == "tpmstate0" && sameTPM(old, value) {
			return die("cannot change TPM state version after creation")
		}
	}
	if err := ch.needDriveChange(c, key, value); err != nil {
		return err
	}
	if old, ok := d.pending[key]; ok {
		if err := c.registerUnused(parseDrive(key, old)); err != nil {
			return err
		}
	}
	maker := diskMaker{
		actor: c.actor, who: ch.who, node: ch.node, vmid: ch.vmid, conf: d.conf, pending: d.pending, work: ch.work, logf: c.logf,
	}
	made, _, err := maker.createDisks(Conf{key: value})
	if err != nil {
		return err
	}
	for k, v := range made {
		d.pending[k] = v
	}
	if asked := parseDrive(key, value); len(ch.bootOrder) > 0 && asked.disc() && !slices.Contains(ch.bootOrder, key) {
		ch.bootOrder = append(ch.bootOrder, key)
		d.pending["boot"] = printBoot(ch.bootOrder)
		modified["boot"] = true
	}
	return nil
}

// sameTPM reports whether a change would give the same TPM another version.
func sameTPM(old, value string) bool {
	version := func(d drive) string {
		if v := d.opt("version"); v != "" {
			return v
		}
		return "v1.2"
	}
	a, b := parseDrive("tpmstate0", old), parseDrive("tpmstate0", value)
	return a.volume == b.volume && version(a) != version(b)
}

// noteBoot checks that the devices of a boot order are there.
func (ch *change) noteBoot(c *changer, value string) error {
	d := c.d
	order := orderOf(value)
	if len(order) == 0 {
		return nil
	}
	for _, dev := range order {
		there := truthy(d.conf[dev]) || truthy(d.pending[dev]) || truthy(ch.set.conf[dev])
		if !there || slices.Contains(ch.deletes, dev) {
			return die("invalid bootorder: device '%s' does not exist'", dev)
		}
	}
	d.pending["boot"] = printBoot(order)
	if truthy(d.conf["bootdisk"]) {
		d.deletes["bootdisk"] = false
	}
	return nil
}

// pinMachine ties a VM that becomes a Windows to a machine version.
func (ch *change) pinMachine(c *changer, ostype string, modified map[string]bool) {
	if _, ok := ch.set.conf["machine"]; ok || c.d.pending["machine"] != "" || modified["machine"] || !c.atLeast(9) {
		return
	}
	machine, err := c.Sim.pinMachine(c.d.conf["machine"], ostype, c.d.conf["arch"], c.logf)
	if err != nil {
		c.logf("automatic pinning of machine version failed - %s", strings.TrimSuffix(perlText(err), "\n"))
	} else if truthy(machine) {
		c.d.pending["machine"] = machine
	}
}
