package pvesim

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// hasPending reports whether something waits.
func (d *draft) hasPending() bool { return len(d.pending) > 0 || len(d.deletes) > 0 }

// cleanup drops pending changes that change nothing.
func (d *draft) cleanup() (changed bool) {
	for k, v := range d.pending {
		if old, ok := d.conf[k]; ok && old == v {
			delete(d.pending, k)
			changed = true
		}
	}
	for k := range d.deletes {
		if _, ok := d.conf[k]; !ok {
			delete(d.deletes, k)
			changed = true
		}
	}
	return changed
}

// changer applies pending changes of a VM.
type changer struct {
	*actor
	vm   *VM
	who  *access.Identity
	d    *draft
	logf func(string, ...any)
	errs schema.Errors
}

// applyPending does to a stopped VM what is pending. What can't be done
// stays pending and is logged.
func (a *actor) applyPending(vm *VM, logf func(string, ...any)) error {
	c := &changer{actor: a, vm: vm, who: &access.Identity{User: "root@pam"}, d: vm.draft(), logf: logf, errs: schema.Errors{}}
	return c.apply(false)
}

// apply takes over all that is pending, then makes a new cloud-init drive's
// contents.
func (c *changer) apply(skipCloudInit bool) error {
	if !c.d.hasPending() {
		return nil
	}
	if c.logf == nil {
		c.logf = discardLine
	}
	d := c.d
	for _, key := range sortedKeys(d.deletes) {
		if _, ok := d.conf[key]; ok && isDriveKey[key] {
			if err := c.detach(key, d.deletes[key]); err != nil {
				c.fail(key, err)
				continue
			}
		}
		delete(d.deletes, key)
		delete(d.conf, key)
	}
	d.cleanup()
	fillCloudInit := false
	for _, key := range d.pending.keys() {
		if isDriveKey[key] {
			if old, ok := d.conf[key]; ok {
				if err := c.registerUnused(parseDrive(key, old)); err != nil {
					c.fail(key, err)
					continue
				}
				if key == "efidisk0" {
					d.pending[key] = c.enroll(parseDrive(key, old), parseDrive(key, d.pending[key])).String()
				}
			}
			fillCloudInit = fillCloudInit || parseDrive(key, d.pending[key]).cloudInit()
		}
		d.conf[key] = d.pending[key]
		delete(d.pending, key)
	}
	if err := c.store(c.vm, d); err != nil {
		return err
	}
	if fillCloudInit && !skipCloudInit {
		return c.fillCloudInit(c.vm, c.logf)
	}
	return nil
}

// enroll puts Microsoft's new certificates onto an EFI disk when its marker
// asks for them; without pre-enrolled keys there is nothing to do.
func (c *changer) enroll(old, now drive) drive {
	if old.volume != now.volume || old.opt("ms-cert") == now.opt("ms-cert") || !strings.HasPrefix(now.opt("ms-cert"), "2023") {
		return now
	}
	now.set("ms-cert", "")
	if truthy(now.opt("pre-enrolled-keys")) {
		c.logf("efidisk0: enrolling Microsoft UEFI CA 2023")
		now.set("ms-cert", "2023k")
	}
	return now
}

func (c *changer) fail(key string, err error) {
	text := "unable to apply pending change " + key + " : " + perlText(err)
	c.errs[key] = text
	c.logf("%s", strings.TrimSuffix(text, "\n"))
}

// detach takes a drive off: its volume becomes unused, or is removed with
// force.
func (c *changer) detach(key string, force bool) error {
	d := parseDrive(key, c.d.conf[key])
	if !force {
		return c.registerUnused(d)
	}
	if err := c.needVM(c.who, c.vm.ID, "", "VM.Config.Disk"); err != nil {
		return err
	}
	_, err := c.deallocate(d, true)
	return err
}

// registerUnused notes the volume of a drive that goes as unused, so that it
// isn't forgotten.
func (c *changer) registerUnused(d drive) error {
	switch {
	case d.cloudInit():
		if err := c.removeVolume(c.vm.Node, d.volume, c.logf); err != nil {
			c.logf("%s", strings.TrimSuffix(perlText(err), "\n"))
		}
		c.d.cloudInit = nil
		return nil
	case d.cdrom() || !d.onStorage():
		return nil
	}
	storage := storageOf(d.volume)
	if c.state.Storages[storage] == nil {
		c.logf("WARN: storage '%s' no longer exists, volume '%s' will be removed from config", storage, d.volume)
		return nil
	}
	if c.owns(d.volume) {
		return c.d.conf.addUnused(d.volume)
	}
	return nil
}

// owns reports whether the volume is the VM's own.
func (c *changer) owns(volid string) bool {
	n, err := c.parseVolID(volid)
	return err == nil && n.vmid == c.vm.ID
}

const maxUnused = 256

// addUnused gives a volume the first free unusedN.
func (c Conf) addUnused(volid string) error {
	free := ""
	for i := maxUnused - 1; i >= 0; i-- {
		key := unusedKey(i)
		switch c[key] {
		case "":
			free = key
		case volid:
			return nil
		}
	}
	if free == "" {
		return die("Too many unused volumes - please delete them first.")
	}
	c[free] = volid
	return nil
}

// deallocate removes the volume of an unused disk, or of any with force; it
// reports whether the option may go from the config.
func (c *changer) deallocate(d drive, force bool) (bool, error) {
	if !force && !strings.HasPrefix(d.key, "unused") || d.disc() {
		return false, nil
	}
	if !c.owns(d.volume) {
		return true, nil
	}
	if err := c.need(c.who, "/storage/"+storageOf(d.volume), "Datastore.AllocateSpace"); err != nil {
		return false, err
	}
	if c.inUse(d.volume, d.key) {
		return false, die("unable to delete '%s' - volume is still in use (snapshot?)", d.volume)
	}
	if err := c.removeVolume(c.vm.Node, d.volume, c.logf); err != nil {
		return false, err
	}
	return true, nil
}

// inUse reports whether a drive of the VM other than skip, or a drive of one
// of its snapshots, has the volume.
func (c *changer) inUse(volid, skip string) bool {
	uses := func(conf Conf, skip string) bool {
		for _, d := range conf.drives() {
			if d.key != skip && !d.cdrom() && d.volume == volid {
				return true
			}
		}
		return false
	}
	if uses(c.d.conf, skip) {
		return true
	}
	for _, snap := range c.vm.Snaps {
		if uses(snap.Conf, "") {
			return true
		}
	}
	return false
}

func unusedKey(i int) string { return fmt.Sprintf("unused%d", i) }
