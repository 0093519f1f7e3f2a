package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Disks are known by their serial numbers, or by their slots; the marker remembers which
// volume each of them is. So a disk is recognised that somebody has detached, or plugged in
// elsewhere: a new, empty one in its place would hide the data.

// slotOf returns where a wanted disk is, or goes.
func (c *change) slotOf(d model.Disk) string {
	if c.slots == nil {
		c.settleSlots()
	}
	return c.slots[diskName(d)]
}

// settleSlots finds the wanted disks among those that are there, then among those that were
// detached, and gives those that are new a free slot: their own if it can be had.
func (c *change) settleSlots() {
	c.slots, c.volume, c.unsure = map[string]string{}, map[string]string{}, map[string]string{}
	taken, claimed := map[string]bool{}, map[string]bool{}
	for _, d := range c.have.Disks {
		taken[d.Slot] = true
	}
	claim := func(d model.Disk, slot string) {
		c.slots[diskName(d)] = slot
		taken[slot], claimed[slot] = true, true
	}
	for _, d := range c.v.Disks {
		if slot, there := c.plugged(d); there {
			claim(d, slot)
		}
	}
	for _, d := range c.v.Disks {
		if _, found := c.slots[diskName(d)]; found {
			continue
		}
		if !d.CDROM && d.Volume == "" {
			c.findDetached(d, claimed)
		}
		claim(d, freeFor(d, taken))
	}
}

// plugged finds the slot of a wanted disk that is plugged in.
func (c *change) plugged(d model.Disk) (slot string, there bool) {
	is := func(test func(model.Disk) bool) bool {
		i := slices.IndexFunc(c.have.Disks, func(o model.Disk) bool { return !o.CloudInit && test(o) })
		if i >= 0 {
			slot = c.have.Disks[i].Slot
		}
		return i >= 0
	}
	remembered := func(o model.Disk) bool { return c.have.Marker.Remembers(diskName(d), o.Volume) }
	serial := d.Options["serial"]
	switch {
	case d.Root():
		if is(remembered) {
			return slot, true
		}
		boot, ok := c.have.BootDisk()
		return boot.Slot, ok && !c.othersVolume(d, boot)
	case serial != "":
		return slot, is(func(o model.Disk) bool { return o.Options["serial"] == serial }) || is(remembered)
	}
	_, there = c.have.DiskAt(d.Slot)
	return d.Slot, there
}

// othersVolume reports whether a disk that is there is another of those that are wanted.
func (c *change) othersVolume(d, there model.Disk) bool {
	return slices.ContainsFunc(c.v.Disks, func(o model.Disk) bool {
		switch {
		case diskName(o) == diskName(d) || o.CDROM:
			return false
		case o.Options["serial"] != "":
			return o.Options["serial"] == there.Options["serial"]
		}
		return o.Slot == there.Slot || c.have.Marker.Remembers(diskName(o), there.Volume)
	})
}

// freeFor returns where a wanted disk goes that isn't plugged in.
func freeFor(d model.Disk, taken map[string]bool) string {
	switch {
	case d.Root():
		return freeSlot("scsi0", taken)
	case d.Options["serial"] != "":
		return freeSlot(d.Slot, taken)
	}
	return d.Slot
}

// findDetached looks for a wanted disk that isn't plugged in among the detached volumes. Where the match isn't
// certain, a person has to decide.
func (c *change) findDetached(d model.Disk, claimed map[string]bool) {
	name := diskName(d)
	for _, o := range c.have.Disks {
		if c.have.Marker.Remembers(name, o.Volume) && !claimed[o.Slot] {
			c.unsure[name] = fmt.Sprintf("it is %s in slot %s now; plug it back in by hand, or declare it in that slot", o.Volume, o.Slot)
			return
		}
	}
	if c.have.Running != nil {
		for _, o := range c.have.Running.Disks {
			if _, stays := c.have.DiskAt(o.Slot); !stays && (c.have.Marker.Remembers(name, o.Volume) || c.managed("disk:"+name) && diskName(o) == name) {
				c.volume[name] = o.Volume // its removal is pending
				return
			}
		}
	}
	var volumes []string
	for _, u := range c.have.Unused {
		switch {
		case u.CloudInit || c.remembered(u.Volume) != "" && c.remembered(u.Volume) != name:
		case c.have.Marker.Remembers(name, u.Volume):
			c.volume[name] = u.Volume
			return
		default:
			volumes = append(volumes, u.Volume)
		}
	}
	if len(volumes) > 0 && c.wasThere(d) {
		c.unsure[name] = c.which(d, volumes)
	}
}

// remembered returns the disk that the marker says is on a volume; empty: none.
func (c *change) remembered(volume string) string {
	for name := range c.have.Marker.Disks {
		if c.have.Marker.Remembers(name, volume) {
			return name
		}
	}
	return ""
}

// wasThere reports whether the guest has had a disk before, so that a new one would be in
// the place of that. A guest that is fresh has what its source had.
func (c *change) wasThere(d model.Disk) bool {
	m := c.have.Marker
	return !m.Fresh && (d.Root() || firmware(d.Slot) || m.Disks[diskName(d)] != "" || c.managed("disk:"+diskName(d)))
}

// which makes an object wait for a person to decide which volume a disk is.
func (c *change) which(d model.Disk, volumes []string) string {
	options := ""
	if serial := d.Options["serial"]; serial != "" {
		options = ",serial=" + serial
	}
	slot := d.Slot
	if d.Root() {
		slot = "scsi0"
	}
	return fmt.Sprintf("VM %d has detached volumes, and one of them may be this disk: %s; attach it with qm set %d --%s VOLUME%s on %s, or remove those that aren't needed",
		c.g.VMID, strings.Join(volumes, ", "), c.g.VMID, slot, options, c.g.Node)
}

// attach plugs a disk in again that was detached.
func (c *change) attach(act *model.Configure, d model.Disk, slot string) {
	volume := c.volume[diskName(d)]
	if c.undoes(slot, func(running *model.Config) bool {
		was, _ := running.DiskAt(slot)
		return was.Volume == volume && maps.Equal(was.Options, d.Options)
	}) {
		c.say(Live, model.Difference{Verb: model.VerbUndoRemove, Field: slot})
	} else {
		c.sayOf(slot, c.hotplugs(slot), model.Difference{Verb: model.VerbAttach, Field: slot, To: volume})
	}
	act.Disks = append(act.Disks, model.NewDisk{Disk: model.Disk{Slot: slot, Volume: volume, Options: d.Options}})
	if boot := c.option("boot"); d.Root() && !strings.Contains(boot, slot) {
		order := "order=" + slot
		if rest := strings.TrimPrefix(boot, "order="); rest != "" && rest != boot {
			order += ";" + rest
		}
		act.Set["boot"] = order
	}
}

// inTheWay refuses to put a drive where somebody has put a disk, or a disk where there is a
// drive: what is there isn't taken away for it.
func (c *change) inTheWay(d, have model.Disk) Refusal {
	kinds := map[bool]string{true: "CD-ROM drive", false: "disk"}
	return Refusal{
		What: fmt.Sprintf("add %s %s", kinds[d.CDROM], have.Slot), Effect: LosesData,
		Why: fmt.Sprintf("slot %s has a %s (%s); plug that into another slot, or remove it with qm set %d --delete %s on %s", have.Slot, kinds[have.CDROM], have.Volume, c.g.VMID, have.Slot, c.g.Node),
	}
}

// comes returns the reason for a new disk: it may replace one that is gone.
func (c *change) comes(d model.Disk) model.Verb {
	if c.have.Marker.Disks[diskName(d)] != "" {
		return model.VerbReplace
	}
	return model.VerbAdd
}

// volumes returns what the marker is to remember of the wanted disks.
func (c *change) volumes() map[string]string {
	known := map[string]string{}
	for _, d := range c.v.Disks {
		if d.CDROM {
			continue
		}
		name, slot := diskName(d), c.slotOf(d)
		have, there := c.have.DiskAt(slot)
		switch {
		case there && have.Volume != "" && !have.CDROM:
			known[name] = model.Digest(have.Volume)
		case (there || c.volume[name] != "" || c.unsure[name] != "") && c.have.Marker.Disks[name] != "":
			known[name] = c.have.Marker.Disks[name] // it isn't plugged in, or something else is where it belongs
		}
	}
	if len(known) == 0 {
		return nil
	}
	return known
}
