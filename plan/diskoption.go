package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// diskOptionMark returns the mark of an option of a disk that a manifest named: when it names
// the option no longer, that becomes Proxmox' default again. What others have set stays.
func diskOptionMark(d model.Disk, key string) string { return "disk:" + diskName(d) + ":" + key }

// diskOptionMarks returns the marks of a wanted disk. Its serial number is its name.
func diskOptionMarks(d model.Disk) (marks []string) {
	for key, value := range d.Options {
		if value != "" && key != "serial" && !firmware(d.Slot) {
			marks = append(marks, diskOptionMark(d, key))
		}
	}
	return marks
}

// withOptions returns a disk that is there with the options that are wanted of it: those that
// the manifest names, and without those that it named before.
func (c *change) withOptions(want, have model.Disk) model.Disk {
	options := maps.Clone(have.Options)
	if options == nil {
		options = map[string]string{}
	}
	for key := range have.Options {
		if _, wanted := want.Options[key]; !wanted && c.managed(diskOptionMark(want, key)) {
			delete(options, key)
		}
	}
	for key, value := range want.Options {
		options[key] = value
		if value == "" {
			delete(options, key)
		}
	}
	have.Options = options
	return have
}

// firmwareAsMade says which properties that are declared the disk of a firmware doesn't have: Proxmox gives it
// them when it is made, and never after.
func (c *change) firmwareAsMade(want, have model.Disk) {
	for _, key := range []string{"pre-enrolled-keys", "version"} {
		if value := want.Options[key]; value != "" && have.Options[key] != value {
			c.o.note("%s has %s=%s, and %s is declared: that is set only when the disk is made, so it stays as it is", have.Slot, key, cmp.Or(have.Options[key], "default"), value)
		}
	}
}

// bootsElsewhere says that a guest which was made from its declaration doesn't boot from its root disk, unless that
// declares another order.
func (c *change) bootsElsewhere(root string) {
	order, ok := strings.CutPrefix(c.have.Options["boot"], "order=")
	if _, declared := c.v.Options["boot"]; !ok || declared || c.have.Marker == nil || c.have.Marker.Adopted || slices.Contains(strings.Split(order, ";"), root) {
		return
	}
	c.o.note("VM %d doesn't boot from its root disk: the boot order is %s, without %s; qm set %d --boot 'order=%s' on %s puts it back", c.g.VMID, order, root, c.g.VMID, root, c.g.Node)
}

// Options of drives that a running guest gets at its next start: Proxmox keeps the cold
// ones pending, and takes the others into the config though the device stays as it is.
var (
	coldDriveOptions = []string{"aio", "cache", "discard", "iothread", "product", "queues", "ro", "ssd", "vendor"}
	lateDriveOptions = []string{"detect_zeroes", "rerror", "scsiblock", "serial", "snapshot", "werror", "wwn"}
)

// sayDisk says which options of a disk change.
func (c *change) sayDisk(have, want model.Disk) {
	slot := have.Slot
	if c.undoes(slot, func(running *model.Config) bool {
		was, there := running.DiskAt(slot)
		return there && was.Volume == want.Volume && maps.Equal(was.Options, want.Options)
	}) {
		c.say(Live, model.Difference{Verb: model.VerbUndo, Field: slot})
		return
	}
	var parts []model.Difference
	cold, late := false, false
	for _, key := range slices.Sorted(keysOf(either(have.Options, want.Options))) {
		if have.Options[key] == want.Options[key] {
			continue
		}
		parts = append(parts, partOf(slot, key, have.Options[key], want.Options[key]))
		cold, late = cold || slices.Contains(coldDriveOptions, key), late || slices.Contains(lateDriveOptions, key)
	}
	if late && !cold {
		c.sayLater(parts...)
		return
	}
	c.sayOf(slot, !cold, parts...)
}

// either has the keys of both.
func either(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, b)
	return both
}
