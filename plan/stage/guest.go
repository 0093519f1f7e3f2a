package stage

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

func (w *World) clone(a model.Clone) {
	if w.Guests[a.To.VMID] != nil {
		return // Proxmox refuses
	}
	src := w.Guests[a.From.VMID]
	c := *src.Config
	c.Options = maps.Clone(c.Options)
	delete(c.Options, "template")
	c.Disks, c.NICs = slices.Clone(c.Disks), slices.Clone(c.NICs)
	for i := range c.Disks {
		d := &c.Disks[i]
		base := strings.TrimPrefix(d.Volume, d.Storage+":") + "/"
		switch {
		case d.CDROM && !d.CloudInit:
			continue // the same medium
		case a.Full:
			base, d.Storage = "", cmp.Or(a.Storage, d.Storage)
		}
		d.Volume = fmt.Sprintf("%s:%svm-%d-disk-%d", d.Storage, base, a.To.VMID, i)
	}
	for i := range c.NICs {
		c.NICs[i].MAC = fmt.Sprintf("BC:24:11:%02X:%02X:%02X", a.To.VMID>>8&255, a.To.VMID&255, i)
	}
	c.Options["name"] = a.Name
	c.Tags = slices.Clone(src.Tags)
	g := &model.Guest{VMID: a.To.VMID, Node: a.To.Node, Status: model.StatusStopped, Tags: c.Tags, Pool: a.Pool, Config: &c, Snapshots: []model.SnapshotInfo{}}
	describe(&c, a.Description)
	w.Guests[g.VMID] = g
	w.Changed(g)
}

// imported is the size of images.
const imported = 2 << 30

func (w *World) create(a model.Create) {
	if w.Guests[a.VMID] != nil {
		return
	}
	c := &model.Config{Options: maps.Clone(a.Options), Tags: slices.Clone(a.Tags)}
	if c.Options == nil {
		c.Options = map[string]string{}
	}
	c.Options["name"] = a.Name
	for _, d := range a.Disks {
		if d.Volume == "" {
			d.Volume = fmt.Sprintf("%s:vm-%d-%s", d.Storage, a.VMID, d.Slot)
		}
		if d.Import != "" {
			d.Disk.Size = imported
		}
		c.Disks = append(c.Disks, d.Disk)
	}
	c.NICs = slices.Clone(a.NICs)
	describe(c, a.Description)
	g := &model.Guest{VMID: a.VMID, Node: a.Node, Status: model.StatusStopped, Tags: c.Tags, Pool: a.Pool, Config: c, Snapshots: []model.SnapshotInfo{}}
	w.Guests[g.VMID] = g
	w.Changed(g)
}

func (w *World) destroy(a model.Destroy) {
	if g := w.Guests[a.VMID]; g != nil && g.OwnedBy(a.Owner) && g.Status == model.StatusStopped {
		delete(w.Guests, a.VMID)
	}
}

func (w *World) makeTemplate(a model.MakeTemplate) {
	g := w.Guests[a.VMID]
	g.Template = true
	for i, d := range g.Config.Disks {
		if at := strings.LastIndexAny(d.Volume, ":/") + 1; strings.HasPrefix(d.Volume[at:], "vm-") {
			g.Config.Disks[i].Volume = d.Volume[:at] + "base" + d.Volume[at+len("vm"):]
		}
	}
}

// describe takes a description apart.
func describe(c *model.Config, text string) {
	c.Marker = nil
	var m model.Marker
	var ok bool
	if c.Text, m, ok = model.ParseDescription(text); ok {
		c.Marker = &m
	}
}

// Changed updates all facts that follow from a changed config.
func (w *World) Changed(g *model.Guest) {
	g.Config.Digest = w.NextDigest()
	g.Name = g.Config.Options["name"]
	if w.List != nil {
		w.List(g)
	}
	if d, ok := g.Config.DiskAt(bootSlot(g.Config)); ok {
		g.Disk = d.Size
	}
}

// bootSlot returns the slot of the disk that a guest boots from.
func bootSlot(c *model.Config) string {
	d, _ := c.BootDisk()
	return cmp.Or(d.Slot, "scsi0")
}

// Start starts a guest, with its pending changes and an agent that answers.
func (w *World) Start(g *model.Guest) {
	w.applyPending(g)
	g.Status, g.Agent = model.StatusRunning, model.AgentUp
	g.Addresses = append(g.Addresses[:0], w.Address)
	if !w.Address.IsValid() {
		g.Addresses = []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}
	}
}

func (w *World) stop(g *model.Guest) {
	g.Status = model.StatusStopped
	w.applyPending(g)
}

func (w *World) applyPending(g *model.Guest) {
	g.Config.Pending = nil
	w.Changed(g)
}

func (w *World) snap(a model.Snap) {
	g := w.Guests[a.VMID]
	s := model.SnapshotInfo{Name: a.Name, Description: a.Description, Memory: a.Memory, Time: int64(len(w.Log) / 60)} // several within a second
	if n := len(g.Snapshots); n > 0 {
		s.Parent = g.Snapshots[n-1].Name
	}
	g.Snapshots = append(g.Snapshots, s)
}

func (w *World) unsnap(a model.Unsnap) {
	g := w.Guests[a.VMID]
	g.Snapshots = slices.DeleteFunc(g.Snapshots, func(s model.SnapshotInfo) bool { return s.Name == a.Name })
	for i := range g.Snapshots[min(1, len(g.Snapshots)):] {
		g.Snapshots[i+1].Parent = g.Snapshots[i].Name
	}
}

func (w *World) rollBack(a model.Rollback) {
	g := w.Guests[a.VMID]
	for i := range g.Snapshots {
		if g.Snapshots[i].Name == a.Name {
			g.Snapshots[i].Description = a.Note
		}
	}
}
