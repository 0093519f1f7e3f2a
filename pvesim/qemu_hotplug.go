package pvesim

import (
	"errors"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// errSkip says that a change must wait until the VM is started again.
var errSkip = errors.New("skip")

// fastOptions mean nothing to a VM that runs, so they change at once.
var fastOptions = []string{
	"description", "hookscript", "lock", "migrate_downtime", "migrate_speed", "name", "onboot", "protection", "shares",
	"startup", "tags", "vmstatestorage",
}

func fastOption(key string) bool { return slices.Contains(fastOptions, key) || isCloudInitOption(key) }

// hotplugFeatures is what may be plugged while the VM runs.
func hotplugFeatures(c Conf) map[string]bool {
	text, ok := c["hotplug"]
	if !ok || text == "1" {
		text = "network,disk,usb"
	}
	can := map[string]bool{}
	if text == "0" {
		return can
	}
	for _, f := range schema.SplitList(text) {
		can[f] = true
	}
	return can
}

// hotplug applies to a VM that runs what can be applied now: all that means
// nothing to QEMU, and of the rest what is selected.
func (c *changer) hotplug(selected map[string]bool) error {
	d := c.d
	changed := false
	for _, key := range d.pending.keys() {
		if fastOption(key) {
			c.take(key, d.pending[key])
			changed = true
		}
	}
	if changed {
		if err := c.store(c.vm, d); err != nil {
			return err
		}
	}
	can := hotplugFeatures(d.conf)
	for _, key := range sortedKeys(d.deletes) {
		if !selected[key] {
			continue
		}
		err := c.hotDelete(key, d.deletes[key], can)
		if err == nil {
			err = c.plug(key, "")
		}
		if err != nil {
			c.problem(key, err)
			continue
		}
		old, had := d.conf[key]
		delete(d.conf, key)
		delete(d.deletes, key)
		if had {
			d.recordCloudInit(key, &old, nil)
		}
	}
	cloudInit := ""
	for _, key := range d.pending.keys() {
		value, still := d.pending[key]
		if !selected[key] || !still {
			continue
		}
		if isDriveKey[key] && parseDrive(key, value).cloudInit() {
			cloudInit = key // its contents depend on all the others
			continue
		}
		value, err := c.hotChange(key, value, can)
		if err == nil {
			err = c.plug(key, value)
		}
		if err != nil {
			c.problem(key, err)
			continue
		}
		c.take(key, value)
	}
	if cloudInit != "" {
		c.hotCloudInit(cloudInit, can)
	}
	if err := c.store(c.vm, d); err != nil {
		return err
	}
	if can["cloudinit"] && len(d.cloudInit) > 0 {
		return c.refreshCloudInit(c.vm, c.logf)
	}
	return nil
}

// take makes a pending value the current one.
func (c *changer) take(key, value string) {
	old, had := c.d.conf[key]
	if had {
		c.d.recordCloudInit(key, &old, &value)
	} else {
		c.d.recordCloudInit(key, nil, &value)
	}
	c.d.conf[key] = value
	delete(c.d.pending, key)
}

func (c *changer) problem(key string, err error) {
	if !errors.Is(err, errSkip) {
		c.errs[key] = "hotplug problem - " + perlText(err)
	}
}

// hotDelete takes an option from a VM that runs.
func (c *changer) hotDelete(key string, force bool, can map[string]bool) error {
	conf := c.d.conf
	switch {
	case key == "hotplug":
		return skipIf(strings.Contains(conf["hotplug"], "cpu") || strings.Contains(conf["hotplug"], "memory"))
	case key == "tablet":
		return skipIf(!can["usb"])
	case family(key, "usb"):
		return skipIf(!c.canPlugUSB(can))
	case key == "vcpus":
		if !can["cpu"] {
			return errSkip
		}
		return c.plugCPUs("")
	case key == "balloon":
		return skipIf(conf["balloon"] == "0")
	case fastOption(key), key == "cpuunits", key == "cpulimit":
		return nil
	case family(key, "net"):
		if !can["network"] {
			return errSkip
		}
		return c.unplug(key)
	case isDriveKey[key]:
		if !can["disk"] || !family(key, "scsi") && !family(key, "virtio") {
			return errSkip
		}
		if err := c.unplug(key); err != nil {
			return err
		}
		return c.detach(key, force)
	case key == "memory":
		if !can["memory"] {
			return errSkip
		}
		_, err := c.plugMemory("512")
		return err
	}
	return errSkip
}

// hotChange gives an option of a VM that runs a new value. It returns the
// value that came of it.
func (c *changer) hotChange(key, value string, can map[string]bool) (string, error) {
	conf := c.d.conf
	switch {
	case key == "hotplug":
		both := value + " " + conf["hotplug"]
		return value, skipIf(strings.Contains(both, "memory") || strings.Contains(both, "cpu"))
	case key == "tablet":
		return value, skipIf(!can["usb"])
	case family(key, "usb"):
		if !c.canPlugUSB(can) {
			return "", errSkip
		}
		return value, c.checkUSB(c.vm.Node, value)
	case key == "vcpus":
		if !can["cpu"] {
			return "", errSkip
		}
		return value, c.plugCPUs(value)
	case key == "balloon":
		old, had := conf["balloon"]
		return value, skipIf((!had || truthy(old)) != truthy(value))
	case family(key, "net"):
		return value, c.changeNet(key, value, can["network"])
	case key == "efidisk0" || key == "tpmstate0":
		return "", errSkip
	case isDriveKey[key]:
		return value, c.changeDisk(key, value, can["disk"])
	case key == "memory":
		if !can["memory"] {
			return "", errSkip
		}
		return c.plugMemory(value)
	case key == "cpuunits", key == "cpulimit":
		return value, nil
	case key == "agent":
		return value, c.changeAgent(value)
	}
	return "", errSkip
}

func skipIf(cond bool) error {
	if cond {
		return errSkip
	}
	return nil
}

// canPlugUSB reports whether USB devices can come and go: the guest must know
// how to handle the controller for that.
func (c *changer) canPlugUSB(can map[string]bool) bool {
	ostype := c.d.conf["ostype"]
	return can["usb"] && (ostype == "l26" || windowsVersion(ostype) > 7)
}

// changeAgent lets only those settings of the guest agent change that don't
// concern its device. An agent that is off has no settings.
func (c *changer) changeAgent(value string) error {
	old := c.d.conf["agent"]
	if !truthy(old) {
		return errSkip
	}
	p := c.option("agent")
	was, err := p.ParseProps("", old)
	if err != nil {
		return errSkip
	}
	now, err := p.ParseProps("", value)
	if err != nil {
		return errSkip
	}
	for _, side := range []**schema.Props{&was, &now} {
		if !truthy((*side).Get("enabled")) {
			*side = &schema.Props{}
		}
	}
	for _, key := range append(was.Keys(), now.Keys()...) {
		if key != "fstrim_cloned_disks" && (was.Has(key) != now.Has(key) || was.Get(key) != now.Get(key)) {
			return errSkip
		}
	}
	return nil
}
