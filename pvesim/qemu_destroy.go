package pvesim

import (
	"fmt"
	"strconv"
	"strings"
)

// destroyRequest answers DELETE of a VM.
func destroyRequest(c *call) (any, error) {
	node, vmid := c.node(), c.params.Int("vmid")
	skipLock, purge := c.params.Bool("skiplock"), c.params.Bool("purge")
	if skipLock && !c.who.Root() {
		return nil, badParam("skiplock", "Only root may use this option.")
	}
	if _, err := c.mayDestroy(node, vmid, purge); err != nil {
		return nil, err
	}
	unreferenced := c.params.Bool("destroy-unreferenced-disks")
	return c.fork(node, "qmdestroy", strconv.Itoa(vmid), c.who, func(t *task) error {
		unlock, err := t.lockConfig(vmid)
		if err != nil {
			return err
		}
		defer unlock()
		vm, err := t.mayDestroy(node, vmid, purge)
		if err != nil {
			return err
		}
		if err := t.removeDisks(vm, skipLock, unreferenced); err != nil {
			return err
		}
		vm.Conf, vm.Pending, vm.Deletes, vm.Snaps, vm.CloudInit = Conf{"lock": "destroyed"}, Conf{}, map[string]bool{}, map[string]*Snap{}, nil
		vm.touch()
		t.sleep(t.world.Timing.Destroy.D())
		t.forgetVM(vm, purge)
		return nil
	}), nil
}

// mayDestroy finds the VM and checks that nothing keeps it.
func (s *Sim) mayDestroy(node string, vmid int, purge bool) (*VM, error) {
	vm, err := s.loadVM(node, vmid)
	if err != nil {
		return nil, err
	}
	if err := vm.Conf.checkProtection(fmt.Sprintf("can't remove VM %d", vmid)); err != nil {
		return nil, err
	}
	if !purge && s.state.HA.Resources[haID(vmid)] != nil {
		return nil, die("unable to remove VM %d - used in HA resources and purge parameter not set.", vmid)
	}
	if vm.Run != nil {
		return nil, die("VM %d is running - destroy failed", vmid)
	}
	return vm, nil
}

func haID(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }

// removeDisks removes the disks of a VM: all that the config names and the
// VM owns, and on request those that it doesn't name.
func (t *task) removeDisks(vm *VM, skipLock, unreferenced bool) error {
	if !skipLock && vm.Conf["lock"] != "suspended" {
		if err := vm.checkLock(); err != nil {
			return err
		}
	}
	if truthy(vm.Conf["template"]) {
		for _, d := range append(vm.Conf.drives(), vm.Conf.unused()...) {
			if !d.cdrom() && t.baseInUse(vm.Node, d.volume) {
				return die("base volume '%s' is still in use by linked cloned", d.volume)
			}
		}
	}
	done := map[string]bool{}
	remove := func(d drive) {
		if d.disc() || !d.onStorage() || done[d.volume] {
			return
		}
		n, err := t.parseVolID(d.volume)
		if err != nil {
			t.warnf("failed to get path and owner of volume '%s': %s", d.volume, strings.TrimSuffix(perlText(err), "\n"))
			return
		}
		if n.vmid != vm.ID {
			return
		}
		done[d.volume] = true
		if err := t.removeVolume(vm.Node, d.volume, t.logf); err != nil {
			t.warnf("Could not remove disk '%s', check manually: %s", d.volume, strings.TrimSuffix(perlText(err), "\n"))
		}
	}
	sections := []Conf{vm.Conf}
	for _, name := range sortedKeys(vm.Snaps) {
		sections = append(sections, Conf{"vmstate": vm.Snaps[name].Conf["vmstate"]})
	}
	for _, c := range append(sections, vm.Pending) {
		for _, d := range append(c.drives(), drive{key: "vmstate", volume: c["vmstate"]}) {
			remove(d)
		}
		for _, d := range c.unused() {
			remove(d)
		}
	}
	if unreferenced {
		t.removeUnreferenced(vm)
	}
	return nil
}

// unused lists the volumes that no drive uses any more.
func (c Conf) unused() []drive {
	var list []drive
	for _, key := range c.keys() {
		if family(key, "unused") {
			list = append(list, parseDrive(key, c[key]))
		}
	}
	return list
}

// baseInUse reports whether linked clones stand on a base volume.
func (s *Sim) baseInUse(node, volid string) bool {
	n, err := s.parseVolID(volid)
	if err != nil || !n.isBase {
		return false
	}
	sp := s.space(n.storage, node)
	return sp != nil && sp.children[n.key()] > 0
}

// removeUnreferenced removes the volumes of a VM from all storages.
func (t *task) removeUnreferenced(vm *VM) {
	for _, id := range sortedKeys(t.state.Storages) {
		st := t.state.Storages[id]
		if !st.HasContent("images") || st.Conf["disable"] == "1" || !st.OnNode(vm.Node) {
			continue
		}
		owned := t.space(id, vm.Node).ofVM(vm.ID)
		for _, name := range sortedKeys(owned) {
			if owned[name] == nil || owned[name].Content != "images" {
				continue // gone meanwhile, or a backup
			}
			if err := t.removeVolume(vm.Node, id+":"+owned[name].volname(), t.logf); err != nil {
				t.warnf("%s", strings.TrimSuffix(perlText(err), "\n"))
			}
		}
	}
}

// forgetVM removes the config and what refers to the VM; with purge also
// from the high-availability manager.
func (t *task) forgetVM(vm *VM, purge bool) {
	t.removeVMAccess(vm.ID)
	t.dropFirewall(vm.ID)
	if purge {
		t.logf("purging VM %d from related configurations..", vm.ID)
		if t.state.HA.Resources[haID(vm.ID)] != nil {
			t.forgetHA(haID(vm.ID), true)
			t.logf("NOTE: removed VM %d from HA resource configuration.", vm.ID)
		}
	}
	t.dropVM(vm.ID)
	if t.state.HA.Resources[haID(vm.ID)] != nil {
		t.haMisses(haID(vm.ID), vm.Node) // it was added while the VM was being destroyed
	}
	t.dirty()
}
