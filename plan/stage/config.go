package stage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

func (w *World) configure(a model.Configure) {
	g := w.Guests[a.VMID]
	c := g.Config
	if a.Digest != c.Digest {
		return // Proxmox refuses
	}
	for k, v := range a.Set {
		c.Options[k] = v
		w.pend(g, k, &v)
	}
	for _, k := range a.Delete {
		delete(c.Options, k)
		c.Disks = slices.DeleteFunc(c.Disks, func(d model.Disk) bool { return d.Slot == k })
		c.NICs = slices.DeleteFunc(c.NICs, func(n model.NIC) bool { return n.Slot == k })
	}
	for _, d := range a.Disks {
		if d.Volume == "" {
			d.Volume = fmt.Sprintf("%s:vm-%d-%s", d.Storage, a.VMID, d.Slot)
		}
		c.Disks = slices.DeleteFunc(c.Disks, func(o model.Disk) bool { return o.Slot == d.Slot })
		c.Disks = append(c.Disks, d.Disk)
	}
	for _, n := range a.NICs {
		if n.MAC == "" {
			n.MAC = fmt.Sprintf("BC:24:11:FF:%02X:%02X", a.VMID&255, len(c.NICs))
		}
		c.NICs = slices.DeleteFunc(c.NICs, func(o model.NIC) bool { return o.Slot == n.Slot })
		c.NICs = append(c.NICs, n)
	}
	if a.Tags != nil {
		c.Tags, g.Tags = *a.Tags, *a.Tags
	}
	if a.Description != nil {
		describe(c, *a.Description)
	}
	w.Changed(g)
}

// pend has an option wait for the next start, if it doesn't apply to a guest that runs.
func (w *World) pend(g *model.Guest, k string, v *string) {
	if w.Live == nil || g.Status != model.StatusRunning || w.Live(g, k) {
		return
	}
	if g.Config.Pending == nil {
		g.Config.Pending = map[string]*string{}
	}
	g.Config.Pending[k] = v
}

func (w *World) resize(a model.Resize) {
	g := w.Guests[a.VMID]
	for i, d := range g.Config.Disks {
		if d.Slot != a.Slot {
			continue
		}
		g.Config.Disks[i].Size = a.Size
		if a.Slot == bootSlot(g.Config) {
			g.Disk = a.Size
		}
	}
}

func (w *World) moveDisk(a model.MoveDisk) {
	c := w.Guests[a.VMID].Config
	for i, d := range c.Disks {
		if d.Slot == a.Slot {
			c.Disks[i].Storage, c.Disks[i].Volume = a.Storage, fmt.Sprintf("%s:vm-%d-%s", a.Storage, a.VMID, a.Slot)
			c.Disks[i].Format = cmp.Or(a.Format, d.Format)
		}
	}
	w.Changed(w.Guests[a.VMID])
}
