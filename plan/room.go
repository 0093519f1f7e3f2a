package plan

import (
	"cmp"
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// room says which storage is too full.
func (p *planner) room(v model.VM, node string, src *source, full bool, look *Look) unfit {
	need := spaceFor(v, src, full)
	names := model.NamesOf(need)
	for _, name := range names {
		s := p.have.Storages[name]
		if s == nil {
			continue // Proxmox says which storage is missing: these credentials may not see it
		}
		r, ok := s.OnNode[node]
		if !ok && s.Late[node] {
			look.Storages = append(look.Storages, node)
			continue
		}
		if !ok {
			return never("storage %s isn't there", name)
		}
		if free := p.spaceLeft(s, node); free < need[name] && !thin(s) {
			return now("storage %s has %s free%s, %s needed", name, model.Bytes(free), promised(r.Free()-free), model.Bytes(need[name]))
		}
	}
	return unfit{}
}

// promised says how much of a storage's free space guests get that are being made, behind a figure.
func promised(space int64) string {
	if space <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s more is for machines that are being made)", model.Bytes(space))
}

// spaceFor returns how large the disks are that a new guest gets, by storage.
func spaceFor(v model.VM, src *source, full bool) map[string]int64 {
	need := map[string]int64{}
	for _, d := range v.Disks {
		if d.Root() {
			continue
		}
		storage := d.Storage
		if storage == "" && src != nil {
			storage = cmp.Or(v.Source.Storage, rootStorage(src.guest.Config))
		}
		need[storage] += d.Size
	}
	if src != nil && full {
		boot := bootSlot(src.guest.Config)
		for _, d := range src.guest.Config.Disks {
			storage := v.Source.Storage
			if storage == "" {
				storage = model.StorageOf(d.Volume)
			}
			size := d.Size
			if d.Slot == boot {
				size = max(size, rootSize(v)) // it is grown before the guest starts
			}
			need[storage] += size
		}
	}
	return need
}

// rootSize returns the declared size of the root disk; 0: it has that of the image.
func rootSize(v model.VM) int64 {
	for _, d := range v.Disks {
		if d.Root() {
			return roundUp(d.Size)
		}
	}
	return 0
}

// tight notes that the disks of a new guest may grow beyond what their storage has left.
func (p *planner) tight(o *Object, v model.VM, at spot, full bool) {
	need := spaceFor(v, at.source, full)
	for _, name := range model.NamesOf(need) {
		if s := p.have.Storages[name]; s != nil && thin(s) {
			if r := s.OnNode[at.node]; r.Total > 0 && r.Free() < need[name] {
				o.note("storage %s has %s free, and the new disks may grow to %s", name, model.Bytes(r.Free()), model.Bytes(need[name]))
			}
		}
	}
}

// thin storages take what is written, so that the sizes of disks say little: files are sparse,
// whatever their format. Volumes of LVM and of iSCSI take all of their size at once.
func thin(s *model.Storage) bool {
	return s.Type != "lvm" && s.Type != "iscsi" && s.Type != "iscsidirect"
}
