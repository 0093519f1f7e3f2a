package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Slots for CD-ROM drives, in the order in which they are tried. Proxmox has
// IDE on all boards of PCs, but q35 shows it as SATA, for which the kernels of
// cloud images often have no driver; so it is SCSI there, where that is virtio.
var (
	ideDrives  = []string{"ide2", "ide0", "ide1", "ide3", "scsi30", "scsi29", "sata5"}
	scsiDrives = []string{"scsi30", "scsi29", "scsi28", "ide2", "ide0", "sata5"}
)

// seedSlot returns where the drive with first-boot data is, or goes: where there is
// one for that already, ours or Proxmox' own, else one that is free. In a guest
// that was just made it is beside Proxmox' own, see besideDrive.
func (c *change) seedSlot() string {
	if c.drive == "" {
		c.drive = c.findDrive()
	}
	return c.drive
}

func (c *change) findDrive() string {
	for _, is := range []func(model.Disk) bool{
		func(d model.Disk) bool { return c.ourSeed(d.Volume) },
		func(d model.Disk) bool { return d.CDROM && madeSeed(d.Volume) }, // that of the guest that this one is a copy of
	} {
		if i := slices.IndexFunc(c.have.Disks, is); i >= 0 {
			return c.have.Disks[i].Slot
		}
	}
	i := slices.IndexFunc(c.have.Disks, func(d model.Disk) bool { return d.CloudInit })
	switch {
	case i < 0:
		return c.freeDrive()
	case fresh(c.have) && !c.running():
		return c.besideDrive(c.have.Disks[i].Slot)
	}
	return c.have.Disks[i].Slot
}

// busDrives are the slots for CD-ROM drives by bus, in the order in which they are tried.
var busDrives = map[string][]string{
	"ide":  {"ide2", "ide0", "ide1", "ide3"},
	"sata": {"sata5", "sata4", "sata3", "sata2", "sata1", "sata0"},
	"scsi": {"scsi30", "scsi29", "scsi28"},
}

// besideDrive returns a slot on the bus of Proxmox' own drive, which the template's author knows to be
// seen there. The drive itself goes, and isn't given another medium: Proxmox forgets its volume when
// the guest runs by then, which somebody may have started before we had configured it.
func (c *change) besideDrive(slot string) string {
	for _, other := range busDrives[strings.TrimRight(slot, "0123456789")] {
		if c.free(other) {
			return other
		}
	}
	return slot
}

// madeSeed reports whether a volume has a name that we give first-boot data. The
// marker needn't know of it: a snapshot that the guest went back to may have had it.
func madeSeed(volume string) bool {
	return strings.HasPrefix(path.Base(volume), model.SeedFiles) && strings.Contains(volume, ":iso/")
}

// freeDrive returns a slot for a CD-ROM drive. One that holds no medium is free.
func (c *change) freeDrive() string {
	slots := ideDrives
	if c.noIDE() {
		slots = scsiDrives
	}
	for _, slot := range slots {
		if c.free(slot) {
			return slot
		}
	}
	return slots[len(slots)-1]
}

// free reports whether a CD-ROM drive can be in a slot: nothing is there, or a drive without a
// medium, and no disk is to be there.
func (c *change) free(slot string) bool {
	d, taken := c.have.DiskAt(slot)
	return (!taken || d.CDROM && d.Volume == "none") && !slices.ContainsFunc(c.v.Disks, func(d model.Disk) bool { return d.Slot == slot })
}

// strandedDrive returns the volume that an earlier guest with the VMID has left of its cloud-init drive.
// Proxmox makes no second one of that name, and fills it anew at each start. It is looked for when a
// step has failed.
func (c *change) strandedDrive(storage string) string {
	if f, failed := c.p.have.Failed[c.o.Owner.Key]; !failed || f.Unread {
		return ""
	}
	if c.p.have.Volumes == nil {
		c.o.Look.Volumes = true
		return ""
	}
	s := c.p.have.Storages[storage]
	for _, v := range c.p.have.Volumes.Of(c.g.VMID) {
		here := v.Node == c.g.Node || s != nil && s.Shared
		if here && model.StorageOf(v.ID) == storage && strings.HasPrefix(model.VolumeName(v.ID), fmt.Sprintf("vm-%d-cloudinit", c.g.VMID)) {
			return v.ID
		}
	}
	return ""
}

// driveLeaves returns the slot of a cloud-init drive that the running guest has until it restarts, since
// somebody has put something else there; empty: none. Proxmox takes no second one before.
func (c *change) driveLeaves() string {
	if !c.running() || c.have.Running == nil {
		return ""
	}
	if i := slices.IndexFunc(c.have.Running.Disks, func(d model.Disk) bool { return d.CloudInit }); i >= 0 {
		return c.have.Running.Disks[i].Slot
	}
	return ""
}

// noIDE reports whether the guest may not see drives on IDE.
func (c *change) noIDE() bool {
	machine, scsi := c.option("machine"), c.option("scsihw")
	return strings.HasPrefix(machine, "virt") || strings.Contains(machine, "q35") && strings.HasPrefix(scsi, "virtio-scsi")
}

// option returns the value that an option has, or will have by this plan.
func (c *change) option(key string) string {
	if want, said := c.v.Options[key]; said {
		return want
	}
	return c.have.Options[key]
}
