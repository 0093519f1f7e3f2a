package plan

import (
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

// seedSlot is where the drive with first-boot data is, or goes: where there is
// one for that already, ours or Proxmox' own, else one that is free.
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
		func(d model.Disk) bool { return d.CloudInit },
	} {
		if i := slices.IndexFunc(c.have.Disks, is); i >= 0 {
			return c.have.Disks[i].Slot
		}
	}
	return c.freeDrive()
}

// madeSeed tells whether a volume has a name that we give first-boot data. The
// marker needn't know of it: a snapshot that the guest went back to may have had it.
func madeSeed(volume string) bool {
	return strings.HasPrefix(path.Base(volume), model.SeedFiles) && strings.Contains(volume, ":iso/")
}

// freeDrive is a slot for a CD-ROM drive. One that holds no medium is free.
func (c *change) freeDrive() string {
	slots := ideDrives
	if c.noIDE() {
		slots = scsiDrives
	}
	for _, slot := range slots {
		d, taken := c.have.DiskAt(slot)
		if (!taken || d.CDROM && d.Volume == "none") && !slices.ContainsFunc(c.v.Disks, func(d model.Disk) bool { return d.Slot == slot }) {
			return slot
		}
	}
	return slots[len(slots)-1]
}

// noIDE tells whether the guest may not see drives on IDE.
func (c *change) noIDE() bool {
	machine, scsi := c.option("machine"), c.option("scsihw")
	return strings.HasPrefix(machine, "virt") || strings.Contains(machine, "q35") && strings.HasPrefix(scsi, "virtio-scsi")
}

// option is the value that an option has, or will have by this plan.
func (c *change) option(key string) string {
	if want, said := c.v.Options[key]; said {
		return want
	}
	return c.have.Options[key]
}
