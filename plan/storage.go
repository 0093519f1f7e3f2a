package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// diskStorage chooses where disks go on a node when nobody says it; empty: none takes
// disks.
func (p *planner) diskStorage(node string) string {
	var takes []*model.Storage
	for _, s := range p.have.Storages {
		if _, ok := s.OnNode[node]; ok && s.Content["images"] {
			takes = append(takes, s)
		}
	}
	if len(takes) == 0 {
		return ""
	}
	return slices.MinFunc(takes, func(a, b *model.Storage) int { return a.CompareFor(node, b) }).Name
}

// noDiskStorage waits, since no storage of a node takes disks. The list may be late about one.
func (p *planner) noDiskStorage(o *Object, node string) {
	if p.late(&o.Look, "images", node) {
		return
	}
	o.wait(WaitUnfit, fmt.Sprintf("no storage on %s takes disks: add the content type images to one (pvesm set STORAGE --content …,images)", node))
}

// late reports whether nodes have storages for some content of which the list doesn't know yet how
// they are: one that was added a moment ago. They have to be asked then.
func (p *planner) late(look *Look, content string, nodes ...string) bool {
	for _, s := range p.have.Storages {
		for _, node := range nodes {
			if s.Content[content] && s.Late[node] && !slices.Contains(look.Storages, node) {
				look.Storages = append(look.Storages, node)
			}
		}
	}
	slices.Sort(look.Storages)
	return len(look.Storages) > 0
}

// needsStorage tells whether a disk is to be made and nobody says where.
func needsStorage(v model.VM) bool {
	return slices.ContainsFunc(v.Disks, func(d model.Disk) bool { return d.Storage == "" && d.Volume == "" })
}

// formatted says in which format a new disk is made, if nobody does: qcow2 where
// disks are files, since Proxmox' own choice there, raw, has no snapshots. The
// state of a TPM can't be in it on all releases. Block devices have no format.
func (p *planner) formatted(d model.Disk) model.Disk {
	s := p.have.Storages[d.Storage]
	switch {
	case s == nil || d.Volume != "" || d.CDROM:
	case s.Blocks():
		d.Format = ""
	case d.Format == "" && d.Slot != "tpmstate0":
		d.Format = "qcow2"
	}
	return d
}

// thick tells whether the root disk is to be without the savings that its source
// has.
func (p *planner) thick(v model.VM, from *model.Guest) bool {
	d, ok := from.Config.DiskAt(bootSlot(from.Config))
	s := p.have.Storages[d.Storage]
	return ok && rootFormat(v) == "raw" && s != nil && !s.Blocks() && d.Format != "raw"
}

// copyFormat is the format of a full copy's disks, if the manifest says so; empty:
// that of the source, or none where disks are block devices.
func (p *planner) copyFormat(v model.VM, at spot, full bool) string {
	storage := at.storage(full, v)
	if storage == "" {
		storage = rootStorage(at.source.guest.Config)
	}
	if s := p.have.Storages[storage]; !full || s == nil || s.Blocks() {
		return ""
	}
	return rootFormat(v)
}

func rootFormat(v model.VM) string {
	for _, d := range v.Disks {
		if d.Root() {
			return d.Format
		}
	}
	return ""
}
