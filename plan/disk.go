package plan

import (
	"fmt"
	"maps"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// bootSlot is the slot of the disk that a guest boots from.
func bootSlot(c *model.Config) string {
	for _, part := range strings.Split(c.Options["boot"], ",") {
		order, ok := strings.CutPrefix(part, "order=")
		if !ok {
			continue
		}
		for _, slot := range strings.Split(order, ";") {
			if d, ok := c.DiskAt(slot); ok && !d.CDROM {
				return slot
			}
		}
	}
	for _, d := range c.Disks {
		if !d.CDROM && d.Slot != "efidisk0" && d.Slot != "tpmstate0" {
			return d.Slot
		}
	}
	return "scsi0"
}

// slotOf is where a wanted disk is, or goes.
func (c *change) slotOf(d model.Disk) string {
	if d.Root() {
		return bootSlot(c.have)
	}
	return d.Slot
}

// disks adds disks that are wanted, changes their options and takes away
// those that were ours and aren't wanted any more.
func (c *change) disks(act *model.Configure) {
	wanted := map[string]bool{}
	for _, d := range c.v.Disks {
		slot := c.slotOf(d)
		wanted[slot] = true
		have, ok := c.have.DiskAt(slot)
		switch {
		case !ok && d.Root():
			// The image has no such disk; Proxmox' boot order decides.
		case !ok:
			c.say("add "+withSize(slot, d.Size), Live)
			c.cold(slot)
			d.Slot = slot
			if d.Storage == "" && d.Volume == "" {
				d.Storage = c.rootStorage()
			}
			act.Disks = append(act.Disks, model.NewDisk{Disk: d})
		case !sameOptions(d.Options, have.Options):
			c.say(fmt.Sprintf("options of %s", slot), Live)
			changed := have
			changed.Options = maps.Clone(have.Options)
			if changed.Options == nil {
				changed.Options = map[string]string{}
			}
			maps.Copy(changed.Options, d.Options)
			act.Disks = append(act.Disks, model.NewDisk{Disk: changed})
		}
	}
	if c.have.Marker == nil {
		return
	}
	for _, mark := range c.have.Marker.Managed {
		slot, ok := strings.CutPrefix(mark, "disk:")
		if !ok || wanted[slot] {
			continue
		}
		d, there := c.have.DiskAt(slot)
		if !there {
			continue
		}
		if !guard(c.o, c.p.allows(c.v), LosesData, "remove "+slot, fmt.Sprintf("no manifest names this disk of %s", size(d.Size))) {
			c.kept = append(c.kept, mark)
			continue
		}
		c.say("remove "+withSize(slot, d.Size), LosesData)
		act.Delete = append(act.Delete, slot)
	}
}

// sameOptions compares the options that are wanted; others may be there.
func sameOptions(want, have map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// resizes tells whether a disk is of another size than wanted, other than a
// boot disk that is to grow: the list of guests shows that one's size.
func (c *change) resizes() bool {
	for _, d := range c.v.Disks {
		have, ok := c.have.DiskAt(c.slotOf(d))
		if ok && d.Size != 0 && have.Size != 0 && d.Size != have.Size && !(d.Root() && d.Size > have.Size) {
			return true
		}
	}
	return false
}

// grow plans disks that are to be larger. Smaller is refused.
func (c *change) grow(after int) int {
	last := after
	for _, d := range c.v.Disks {
		slot := c.slotOf(d)
		have, ok := c.have.DiskAt(slot)
		switch {
		case !ok || d.Size == 0 || d.Size == have.Size || have.Size == 0:
		case d.Size < have.Size:
			c.o.Refused = append(c.o.Refused, Refusal{
				What: "shrink " + slot, Why: sizes(have.Size, d.Size) + ", which Proxmox can't do; ask for " + size(have.Size) + " or more", Effect: LosesData,
			})
		default:
			last = c.o.step(Step{
				Action: model.Resize{Target: c.target(), Slot: slot, Size: d.Size},
				What:   "grow " + slot, Why: sizes(have.Size, d.Size), Effect: Live,
			}, last)
		}
	}
	return last
}
