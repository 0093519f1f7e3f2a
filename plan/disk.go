package plan

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// bootSlot returns the slot of the disk that a guest boots from.
func bootSlot(c *model.Config) string {
	if d, ok := c.BootDisk(); ok {
		return d.Slot
	}
	return "scsi0"
}

// diskUnit is what sizes of disks are rounded up to when they are made or grown.
// Storages round them up to units of their own, and a disk that is larger than was
// asked for would seem to have to shrink.
const diskUnit = 64 << 20

func roundUp(size int64) int64 { return (size + diskUnit - 1) / diskUnit * diskUnit }

// rightSize reports whether a disk has the wanted size, apart from rounding. Without a wanted size, any
// size is right.
func rightSize(want, have int64) bool {
	return want == 0 || have == 0 || want <= have && have <= roundUp(want)
}

// diskName returns the name of a disk, which doesn't depend on its slot: its serial number if it has
// one.
func diskName(d model.Disk) string {
	if serial := d.Options["serial"]; serial != "" && !d.Root() {
		return serial
	}
	return d.Slot
}

// freeSlot returns the slot itself or the next one of its family that is free.
func freeSlot(slot string, taken map[string]bool) string {
	family := strings.TrimRight(slot, "0123456789")
	n, _ := strconv.Atoi(slot[len(family):])
	for taken[slot] {
		n++
		slot = family + strconv.Itoa(n)
	}
	return slot
}

// disks plans the disks: it adds wanted ones, changes their options, and removes those of ours that aren't
// wanted any more.
func (c *change) disks(act *model.Configure) {
	wanted := map[string]bool{}
	for _, d := range c.v.Disks {
		slot := c.slotOf(d)
		wanted[slot] = true
		have, ok := c.have.DiskAt(slot)
		switch {
		case !ok && c.unsure[diskName(d)] != "":
			c.o.Refused = append(c.o.Refused, Refusal{What: "add " + withSize(slot, d.Size), Why: c.unsure[diskName(d)], Effect: LosesData})
		case !ok && c.volume[diskName(d)] != "":
			c.attach(act, d, slot)
		case !ok && d.Root():
			// The image has no such disk; Proxmox' boot order decides.
		case !ok:
			c.sayOf(slot, c.hotplugs(slot), model.Difference{Verb: c.comes(d), Field: slot, To: amount(d.Size)})
			d.Slot, d.Size = slot, roundUp(d.Size)
			if d.Storage == "" && d.Volume == "" {
				d.Storage = c.rootStorage()
			}
			act.Disks = append(act.Disks, model.NewDisk{Disk: c.p.formatted(d)})
		case d.CDROM != have.CDROM:
			c.o.Refused = append(c.o.Refused, c.inTheWay(d, have))
		case d.CDROM && d.Volume != "" && have.CDROM && have.Volume != d.Volume:
			c.media(act, d, have)
		case firmware(slot):
			c.firmwareAsMade(d, have)
		default:
			if d.Root() {
				c.bootsElsewhere(slot)
			}
			want := c.withOptions(d, have)
			switch {
			case !maps.Equal(want.Options, have.Options):
				c.sayDisk(have, want)
				act.Disks = append(act.Disks, model.NewDisk{Disk: want})
			case !c.running() && c.volumePends(have):
				// Proxmox applies what is pending of a stopped guest when its config is written.
				c.say(Live, model.Difference{Verb: model.VerbAttach, Field: slot, To: have.Volume})
				act.Disks = append(act.Disks, model.NewDisk{Disk: have})
			}
		}
	}
	c.dropDisks(act, wanted)
}

// runsWith returns the disk that the running guest has in a slot whose change is pending; false: none, or a
// CD-ROM drive.
func (c *change) runsWith(slot string) (model.Disk, bool) {
	if c.have.Running == nil {
		return model.Disk{}, false
	}
	d, there := c.have.Running.DiskAt(slot)
	return d, there && !d.CDROM && d.Volume != ""
}

// swapped reports whether the running guest has something else in the slot of a disk, or nothing, until it
// restarts. Proxmox moves and grows what the guest runs with: this disk only after the restart.
func (c *change) swapped(d model.Disk) bool { return c.volumePends(d) && c.running() }

// volumePends reports whether the volume of a disk waits for the next start of the guest.
func (c *change) volumePends(d model.Disk) bool {
	if _, pends := c.have.Pending[d.Slot]; !pends || c.undone[d.Slot] || c.have.Running == nil {
		return false
	}
	was, _ := c.have.Running.DiskAt(d.Slot)
	return was.Volume != d.Volume
}

// dropDisks plans the removal of disks of ours that aren't wanted any more.
func (c *change) dropDisks(act *model.Configure, wanted map[string]bool) {
	for _, d := range c.have.Disks {
		mark := "disk:" + diskName(d)
		if wanted[d.Slot] || !c.managed(mark) {
			continue
		}
		if was, there := c.runsWith(d.Slot); d.CDROM && there {
			d = was // it goes with what the slot will have
		}
		if d.CDROM {
			c.sayOf(d.Slot, c.hotplugs(d.Slot), model.Difference{Verb: model.VerbRemove, Field: d.Slot})
			act.Delete = append(act.Delete, d.Slot)
			continue
		}
		goes := model.Difference{Verb: model.VerbRemove, Field: d.Slot, From: amount(d.Size)}
		if !guard(c.o, c.p.allows(c.v), LosesData, "remove "+d.Slot, fmt.Sprintf("nothing declares this disk of %s", model.Bytes(d.Size)), goes) {
			c.kept = append(c.kept, mark)
			continue
		}
		if c.heldBySnapshots(d, goes) {
			c.kept = append(c.kept, mark)
			continue
		}
		c.say(LosesData, goes)
		back := c.undoes(d.Slot, func(running *model.Config) bool { _, was := running.DiskAt(d.Slot); return !was })
		if c.running() && !c.hotplugs(d.Slot) && !back {
			c.later = append(c.later, d.Slot)
		}
		act.Delete = append(act.Delete, d.Slot)
	}
}

// heldBySnapshots reports whether a disk has to stay since snapshots have it, and refuses its removal. Proxmox wouldn't
// remove it, and would fail each further change of the config for that: the removal stays pending.
func (c *change) heldBySnapshots(d model.Disk, goes model.Difference) bool {
	if c.g.Snapshots == nil {
		c.o.Look.Snapshots = append(c.o.Look.Snapshots, c.g.VMID)
		return true
	}
	if len(c.g.Snapshots) == 0 {
		return false
	}
	c.o.Refused = append(c.o.Refused, Refusal{
		What: "remove " + d.Slot, Why: fmt.Sprintf("nothing declares this disk of %s; Proxmox removes no disks that snapshots have: delete %s first", model.Bytes(d.Size), c.snapshotNames()),
		Diff: one(goes, LosesData), Effect: LosesData,
	})
	return true
}

// snapshotNames returns the names of the guest's snapshots.
func (c *change) snapshotNames() string {
	names := make([]string, 0, len(c.g.Snapshots))
	for _, i := range c.g.Snapshots {
		names = append(names, i.Name)
	}
	return strings.Join(names, ", ")
}

// resizes reports whether a disk is of another size than wanted, other than a
// boot disk that is to grow: the list of guests shows that one's size.
func (c *change) resizes() bool {
	for _, d := range c.v.Disks {
		have, ok := c.have.DiskAt(c.slotOf(d))
		if ok && !rightSize(d.Size, have.Size) && !(d.Root() && d.Size > have.Size) {
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
		case !ok || rightSize(d.Size, have.Size) || c.swapped(have):
		case d.Size < have.Size:
			c.o.Refused = append(c.o.Refused, Refusal{
				What: "shrink " + slot, Why: model.Bytes(have.Size) + " → " + model.Bytes(d.Size) + ", which Proxmox can't do; ask for " + model.Bytes(have.Size) + " or more",
				Diff: sized(slot, have.Size, d.Size, LosesData), Effect: LosesData,
			})
		default:
			last = c.o.step(Step{
				Action: model.Resize{Target: c.target(), Slot: slot, Size: roundUp(d.Size)},
				What:   "grow " + slot, Diff: sized(slot, have.Size, roundUp(d.Size), Live), Effect: Live,
			}, last)
		}
	}
	return last
}
