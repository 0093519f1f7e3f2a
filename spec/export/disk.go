package export

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// disks are the disks with their sizes; CD-ROM drives aren't among them. Without the
// one that it boots from, a machine without an image has none that can be said.
func (w *writer) disks() []spec.Disk {
	root := bootSlot(w.g.Config)
	if _, omitted := w.omit[root]; omitted && !w.linked {
		return nil
	}
	var list []spec.Disk
	var slots []string
	for _, d := range w.g.Config.Disks {
		if _, omitted := w.omit[d.Slot]; omitted || !d.HoldsData() {
			continue
		}
		if one := w.disk(d, d.Slot == root); d.Slot == root {
			list, slots = slices.Insert(list, 0, one), slices.Insert(slots, 0, d.Slot)
		} else {
			list, slots = append(list, one), append(slots, d.Slot)
		}
	}
	for i, slot := range slots {
		w.says(fmt.Sprintf("disks[%d]", i), slot)
	}
	return list
}

func (w *writer) disk(d model.Disk, root bool) spec.Disk {
	to := spec.Disk{Name: d.Slot, Slot: d.Slot}
	if root {
		to.Name, to.Slot = "root", ""
	}
	if d.Size > 0 {
		to.Size = resource.NewQuantity(d.Size, resource.BinarySI)
	}
	if !root || !w.linked {
		to.Storage = d.Storage
	}
	to.SSD, to.Discard, to.IOThread = ifTrue(d.Options["ssd"] == "1"), ifTrue(d.Options["discard"] == "on"), ifTrue(d.Options["iothread"] == "1")
	to.Cache = d.Options["cache"]
	if d.Options["backup"] == "0" {
		to.Backup = new(false)
	}
	return to
}

// ifTrue says a flag only if it is set.
func ifTrue(is bool) *bool {
	if is {
		return &is
	}
	return nil
}

// bootSlot returns the slot that a guest boots from, as plans see it.
func bootSlot(c *model.Config) string {
	d, _ := c.BootDisk()
	return d.Slot
}
