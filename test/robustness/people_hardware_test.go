package robustness

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// makeTemplate stops a machine and makes a template of it.
func (o *others) makeTemplate(id int) bool {
	owner := o.ownerOf(id)
	o.status(id, "stop")
	if o.ownerOf(id) != owner {
		return false // somebody has put another one in its place
	}
	o.call(id, http.MethodPost, "/template", nil) // its answer may be lost
	is := false
	o.run.sim.Do(func(s *pvesim.State) { is = isTemplate(s.VMs[id]) })
	return is
}

// isTemplate reports whether a machine is a template, or becomes one.
func isTemplate(vm *pvesim.VM) bool { return vm != nil && vm.Conf["template"] == "1" }

// diskIntoDrive puts a new disk into the slot of a CD-ROM drive.
func (o *others) diskIntoDrive(id int) bool {
	slot := o.slot(id, func(slot, value string) bool { return strings.Contains(value, "media=cdrom") })
	return slot != "" && o.displace(id, slot, o.run.h.world.disks[0]+":1", func(value string) bool { return !strings.Contains(value, "media=cdrom") })
}

// driveIntoDisk puts an empty CD-ROM drive into the slot of a disk that the machine doesn't boot
// from.
func (o *others) driveIntoDisk(id int) bool {
	slot := o.slot(id, func(slot, value string) bool {
		return slot != "scsi0" && strings.HasPrefix(slot, "scsi") && !strings.Contains(value, "media=cdrom")
	})
	return slot != "" && o.displace(id, slot, "none,media=cdrom", func(value string) bool { return strings.Contains(value, "media=cdrom") })
}

// displace puts something into a slot that isn't empty, and reports whether it is there. Of a machine that
// runs Proxmox says that this failed, and does it at the next start.
func (o *others) displace(id int, slot, value string, is func(string) bool) (there bool) {
	o.mu.Lock()
	o.displaced[id] = true
	o.mu.Unlock()
	o.config(id, slot, value)
	o.run.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[id]; vm != nil {
			pending, waits := vm.Pending[slot]
			there = waits && is(pending) || is(vm.Conf[slot])
		}
	})
	return there
}

// displacedOf reports whether others have put a drive where a machine had a disk, or a disk of theirs where it
// had a drive: what is unused from then on is theirs to judge.
func (o *others) displacedOf(id int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.displaced[id]
}

// slot is the first slot of a machine that has a drive of some kind; empty: none.
func (o *others) slot(id int, is func(slot, value string) bool) (found string) {
	o.run.sim.Do(func(s *pvesim.State) {
		vm := s.VMs[id]
		if vm == nil {
			return
		}
		for _, slot := range slices.Sorted(maps.Keys(vm.Conf)) {
			if found == "" && isDrive(slot) && slot != "parent" && is(slot, vm.Conf[slot]) {
				found = slot
			}
		}
	})
	return found
}

// driveInItsSlot reports whether a CD-ROM drive is where a disk is wanted.
func driveInItsSlot(w *wish, vm *pvesim.VM) bool {
	return w != nil && vm != nil && slices.ContainsFunc(w.Disks, func(d model.Disk) bool {
		return !d.CDROM && (strings.Contains(vm.Conf[d.Slot], "media=cdrom") || strings.Contains(vm.Pending[d.Slot], "media=cdrom"))
	})
}
