package pvesim

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// recordCloudInit notes a change of an option that the cloud-init drive of a
// VM that runs doesn't know of yet; nil is no value.
func (d *draft) recordCloudInit(key string, old, now *string) {
	if !isCloudInitOption(key) && key != "name" && !family(key, "net") {
		return
	}
	if d.cloudInit == nil {
		d.cloudInit = Conf{}
	}
	recorded, inDrive := d.cloudInit[key]
	added := schema.SplitList(d.cloudInit["added"])
	isNew := slices.Contains(added, key)
	forget := func() { added = slices.DeleteFunc(added, func(k string) bool { return k == key }) }
	switch {
	case now != nil && inDrive:
		if *now == recorded { // back to what the drive says
			delete(d.cloudInit, key)
			forget()
		}
	case now != nil && !isNew && old != nil:
		d.cloudInit[key] = *old
	case now != nil && !isNew:
		added = append(added, key)
	case now == nil && old != nil && !inDrive && isNew:
		forget()
	case now == nil && old != nil && !inDrive:
		d.cloudInit[key] = *old
	}
	delete(d.cloudInit, "added")
	if len(added) > 0 {
		slices.Sort(added)
		d.cloudInit["added"] = strings.Join(added, ",")
	}
}

// fillCloudInit writes the cloud-init drive of a VM, if it has one.
func (a *actor) fillCloudInit(vm *VM, logf func(string, ...any)) error {
	if err := a.writeCloudInit(vm, vm.Conf, logf); err != nil {
		return err
	}
	if len(vm.CloudInit) > 0 {
		vm.CloudInit = nil
		vm.touch()
		a.dirty()
	}
	return nil
}

// writeCloudInit writes the drive from the given config.
func (a *actor) writeCloudInit(vm *VM, conf Conf, logf func(string, ...any)) error {
	own := "vm-" + strconv.Itoa(vm.ID) + "-cloudinit"
	for _, d := range conf.drives() {
		_, volname, ok := splitVolID(d.volume)
		if !ok || !strings.Contains(volname, own) {
			continue
		}
		ci := &cloudInit{Sim: a.Sim, vm: vm, conf: conf}
		if _, _, err := ci.files(); err != nil {
			return err
		}
		if err := a.ensureCloudInit(vm, d.volume); err != nil {
			return err
		}
		if logf != nil {
			logf("generating cloud-init ISO")
		}
	}
	return nil
}

// ensureCloudInit makes the drive's volume again if it was lost.
func (a *actor) ensureCloudInit(vm *VM, volid string) error {
	if v, _ := a.volume(vm.Node, volid); v != nil {
		return nil
	}
	n, err := a.parseVolID(volid)
	if err != nil {
		return err
	}
	_, err = a.allocDisk(vm.Node, n.storage, vm.ID, n.format, n.name, cloudInitSize>>10, nil)
	return err
}

// refreshCloudInit writes the drive again and, when the VM runs, puts it in
// as a new disc.
func (a *actor) refreshCloudInit(vm *VM, logf func(string, ...any)) error {
	if vm.Conf.cloudInitKey("") == "" {
		return nil
	}
	if err := a.fillCloudInit(vm, logf); err != nil {
		return err
	}
	return a.changeMachine(vm, vm.Conf)
}

// hotCloudInit puts a new cloud-init drive into a VM that runs.
func (c *changer) hotCloudInit(key string, can map[string]bool) {
	value := c.d.pending[key]
	conf := c.d.conf.clone()
	conf[key] = value
	err := c.writeCloudInit(c.vm, conf, c.logf)
	if err == nil {
		c.d.cloudInit = nil
		err = c.changeDisk(key, value, can["disk"])
	}
	if err == nil {
		err = c.plug(key, value)
	}
	if err != nil {
		c.problem(key, err)
		return
	}
	c.d.conf[key] = value
	delete(c.d.pending, key)
}

// blobText reads a small file of a storage.
func (s *Sim) blobText(v *Volume) (string, error) {
	if v.Blob == "" {
		return "", nil
	}
	r, err := s.blobs.open(v.Blob)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 1<<20))
	return string(b), err
}
