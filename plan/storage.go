package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// What it takes on a storage to make disks there, and to fetch images to it.
const (
	mayAllocate = "Datastore.AllocateSpace"
	mayFetch    = "Datastore.AllocateTemplate"
)

// taking returns the storages of a node that take a kind of content, by name.
func (p *planner) taking(node, content string) []*model.Storage {
	var list []*model.Storage
	for _, name := range model.NamesOf(p.have.Storages) {
		if s := p.have.Storages[name]; s.Content[content] {
			if _, there := s.OnNode[node]; there {
				list = append(list, s)
			}
		}
	}
	return list
}

// unsureOfRights reports whether a storage of a node is to be chosen, and it wasn't asked yet
// which of them the credentials may use. Where there is only one, there is no choice.
func (p *planner) unsureOfRights(look *Look, node, content string) bool {
	takes, unsure := p.taking(node, content), false
	for _, s := range takes {
		path := "/storage/" + s.Name
		if _, asked := p.have.Rights[path]; asked || len(takes) == 1 {
			continue
		}
		if unsure = true; !slices.Contains(look.Rights, path) {
			look.Rights = append(look.Rights, path)
		}
	}
	return unsure
}

func storageNames(list []*model.Storage) string {
	var names []string
	for _, s := range list {
		names = append(names, "/storage/"+s.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// diskStorage chooses where disks go on a node when nobody says it, among the storages that
// the credentials may make disks on; empty: there is none.
func (p *planner) diskStorage(node string) string {
	takes := slices.DeleteFunc(p.taking(node, "images"), func(s *model.Storage) bool { return !p.have.May("/storage/"+s.Name, mayAllocate) })
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
	if takes := p.taking(node, "images"); len(takes) > 0 {
		o.wait(model.WaitUnfit, fmt.Sprintf("these credentials may make disks on no storage of %s: grant %s on one that takes disks (%s)", node, mayAllocate, storageNames(takes)))
		return
	}
	o.wait(model.WaitUnfit, fmt.Sprintf("no storage on %s takes disks: add the content type images to one (pvesm set STORAGE --content …,images)", node))
}

// late reports whether nodes have storages for some content whose state the list doesn't show yet, such as one
// that was just added, and requests their state from the nodes.
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

// needsStorage reports whether a disk is to be made and nobody says where.
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

// thick reports whether the root disk is to be without the savings that its source
// has.
func (p *planner) thick(v model.VM, from *model.Guest) bool {
	d, ok := from.Config.DiskAt(bootSlot(from.Config))
	s := p.have.Storages[d.Storage]
	return ok && rootFormat(v) == "raw" && s != nil && !s.Blocks() && d.Format != "raw"
}

// copyFormat returns the format of a full copy's disks, if the manifest says so; empty:
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
