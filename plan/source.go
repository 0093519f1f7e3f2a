package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// source is a guest that another one can be made from.
type source struct {
	guest  *model.Guest
	shared bool // all its disks can be reached from every node
	// future is the template that has to be made first; nil: it is there.
	future *model.Image
}

// reaches reports whether guests can be made from a source on another node than its own.
func (p *planner) reaches(s *source, node string) bool {
	if !s.shared || p.have.Nodes[node] == nil {
		return s.shared
	}
	return !slices.ContainsFunc(s.guest.Config.Disks, func(d model.Disk) bool {
		on := p.have.Storages[d.Storage]
		if on == nil || d.CDROM {
			return false
		}
		_, there := on.OnNode[node]
		return !there && !on.Late[node]
	})
}

// rootSlot returns the slot that the source boots from.
func (s *source) rootSlot() string {
	if s == nil || s.guest.Config == nil {
		return "scsi0"
	}
	return bootSlot(s.guest.Config)
}

// rootSize returns how large the root disk is before it is grown.
func (s *source) rootSize(model.Disk) int64 {
	if d, ok := s.guest.Config.DiskAt(s.rootSlot()); ok {
		return d.Size
	}
	return 0
}

// sources finds what a guest can be made from, and whether by a full copy.
// No source and no wait means: from nothing.
func (p *planner) sources(v model.VM) (list []*source, full bool, wait *Wait, look Look) {
	full = v.Source.Full
	var guests []*model.Guest
	switch {
	case v.Source.Blank:
		return nil, full, nil, Look{}
	case v.Source.Copy && v.Source.VM == (model.Key{}) && v.Source.Snapshot != "":
		text := fmt.Sprintf("it is to be a copy of snapshot %s, and nothing declares a machine named %s that could have it", v.Source.Snapshot, v.Source.Image.Name)
		return nil, full, &Wait{Reason: model.WaitSource, Text: text}, Look{}
	case v.Source.VM != (model.Key{}):
		guests, wait, look = p.sourceVM(v.Source.VM, v.Source.Snapshot)
	default:
		guests, wait, look = p.sourceImage(v.Source.Image)
	}
	if wait != nil || !look.Empty() {
		return nil, full, wait, look
	}
	var early *Wait
	for _, g := range guests {
		if g.Config == nil {
			look.Configs = append(look.Configs, g.VMID)
			continue
		}
		if early = p.converting(g); early != nil && early.Task != "" {
			return nil, full, early, Look{}
		}
		if early != nil && len(guests) > 1 {
			continue // it may have been left half made
		}
		full = full || p.copiedFull(v, g)
		list = append(list, &source{guest: g, shared: p.allShared(g.Config)})
	}
	switch {
	case !look.Empty():
		return nil, full, nil, look
	case early != nil && len(guests) == 1 || len(list) == 0:
		return nil, full, early, Look{}
	}
	return list, full, nil, Look{}
}

// copiedFull reports whether a guest can be made from another one by a full copy only.
func (p *planner) copiedFull(v model.VM, g *model.Guest) bool {
	switch at := v.Source.Storage; {
	case !g.Template || p.copiedOnly(g):
		return true // Proxmox makes linked copies of templates only
	case at != "" && at != rootStorage(g.Config):
		return true // linked copies stay on the storage of their source
	}
	return p.thick(v, g) // linked copies are as thin as can be
}

// sourceVM returns another guest of ours, or a snapshot of it.
func (p *planner) sourceVM(key model.Key, snapshot string) ([]*model.Guest, *Wait, Look) {
	v, ok := p.vms[key]
	if !ok {
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s, which it is to be cloned from, isn't declared", key)}, Look{}
	}
	f := p.find(v.Owner, v.VMID, v.Range)
	switch {
	case !f.look.Empty():
		return nil, nil, f.look
	case f.guest == nil:
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s, which it is to be cloned from, isn't there yet", key)}, Look{}
	case f.guest.Config == nil:
		return nil, nil, Look{Configs: []int{f.guest.VMID}}
	case f.guest.Lock != "":
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s, which it is to be cloned from, is locked (%s)", key, f.guest.Lock)}, Look{}
	case snapshot == "" && p.changing[key]:
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s, which it is to be cloned from, isn't up to date yet", key)}, Look{}
	case snapshot == "":
		return []*model.Guest{f.guest}, nil, Look{}
	}
	if f.guest.Snapshots == nil {
		return nil, nil, Look{Snapshots: []int{f.guest.VMID}}
	}
	if !slices.ContainsFunc(f.guest.Snapshots, func(i model.SnapshotInfo) bool { return i.Name == snapshot }) {
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("snapshot %s of %s, which it is to be cloned from, isn't there yet", snapshot, key)}, Look{}
	}
	return []*model.Guest{f.guest}, nil, Look{}
}

// sourceImage returns a template.
func (p *planner) sourceImage(key model.Key) ([]*model.Guest, *Wait, Look) {
	img, ok := p.images[key]
	if !ok {
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s isn't declared", key)}, Look{}
	}
	guests, wait, look := p.imageGuests(img)
	if wait != nil || !look.Empty() || len(guests) > 0 || p.spreads(img, &look) || !look.Empty() {
		return guests, wait, look
	}
	return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s isn't ready yet", key)}, Look{}
}

// anyShared reports whether a disk of a guest may be reached from another node.
func (p *planner) anyShared(c *model.Config) bool {
	return slices.ContainsFunc(c.Disks, func(d model.Disk) bool {
		s := p.have.Storages[model.StorageOf(d.Volume)]
		return d.Volume != "" && d.Volume != "none" && (s == nil || s.Shared)
	})
}

// allShared reports whether a guest's disks can be reached from all nodes, also those that it has only until it restarts:
// Proxmox copies the guest as it runs.
func (p *planner) allShared(c *model.Config) bool {
	disks := c.Disks
	if c.Running != nil {
		disks = slices.Concat(disks, c.Running.Disks)
	}
	for _, d := range disks {
		if d.Volume == "" || d.Volume == "none" {
			continue
		}
		if s := p.have.Storages[model.StorageOf(d.Volume)]; s == nil || !s.Shared {
			return false
		}
	}
	return true
}
