package pvesim

import "slices"

// remove notes that an option is to go. Some go at once.
func (ch *change) remove(c *changer, key string, modified map[string]bool) error {
	c.d = c.vm.draft()
	d := c.d
	value, inConf := d.conf[key]
	waiting, isPending := d.pending[key]
	if !inConf {
		value = waiting
	}
	if !inConf && !isPending {
		c.logf("cannot delete '%s' - not set in current configuration!", key)
		modified[key] = false
		return nil
	}
	delete(d.pending, key)
	if slices.Contains(ch.bootOrder, key) {
		ch.bootOrder = slices.DeleteFunc(ch.bootOrder, func(k string) bool { return k == key })
		d.pending["boot"] = printBoot(ch.bootOrder)
		modified["boot"] = true
	}
	switch {
	case family(key, "unused"), key == "vmstate":
		return ch.removeVolume(c, key, value)
	case key == "tags":
		if err := c.needTags(ch.who, ch.vmid, value, ""); err != nil {
			return err
		}
		delete(d.conf, key)
		return c.store(c.vm, d)
	}
	if err := ch.mayRemove(c, key, value); err != nil {
		return err
	}
	if isDriveKey[key] && isPending {
		if err := c.registerUnused(parseDrive(key, value)); err != nil {
			return err
		}
	}
	d.deletes[key] = ch.force
	return c.store(c.vm, d)
}

// removeVolume removes an unused disk, or the saved memory of a VM.
func (ch *change) removeVolume(c *changer, key, value string) error {
	disk := parseDrive(key, value)
	what := "can't remove unused disk '" + disk.volume + "'"
	if key == "vmstate" {
		what = "can't remove vmstate '" + value + "'"
	}
	if err := c.d.conf.checkProtection(what); err != nil {
		return err
	}
	if key != "vmstate" {
		if err := c.needVM(ch.who, ch.vmid, "", "VM.Config.Disk"); err != nil {
			return err
		}
	}
	gone, err := c.deallocate(disk, key == "vmstate")
	if err != nil || !gone {
		return err
	}
	delete(c.d.conf, key)
	return c.store(c.vm, c.d)
}

// mayRemove checks what the removal of an option needs beyond the privilege
// for its kind.
func (ch *change) mayRemove(c *changer, key, value string) error {
	switch {
	case isDriveKey[key]:
		if err := c.d.conf.checkProtection("can't remove drive '" + key + "'"); err != nil {
			return err
		}
		return ch.needDriveChange(c, key, value)
	case family(key, "serial"):
		if value == "socket" {
			return c.needVM(ch.who, ch.vmid, "", "VM.Config.HWType")
		}
		if !ch.who.Root() {
			return die("only root can delete '%s' config for real devices", key)
		}
	case family(key, "usb"):
		return c.needUSB(ch.who, ch.vmid, "", key, value)
	case family(key, "hostpci"):
		return c.needHostPCI(ch.who, ch.vmid, "", key, value)
	case family(key, "rng"):
		return c.needRNG(ch.who, ch.vmid, "", key, value)
	case family(key, "virtiofs"):
		return c.needShare(ch.who, ch.vmid, "", key, value)
	case family(key, "net"):
		if old, ok := c.d.conf[key]; ok {
			return c.needNets(ch.who, Conf{key: old})
		}
	}
	return nil
}
