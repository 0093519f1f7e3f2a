package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// fileOn reports whether a node has a file, or shares the storage that has it.
func (p *planner) fileOn(volume, node string) bool {
	f, ok := p.have.FilesLike(volume)[volume]
	return ok && (p.sharedVolume(volume) || f.Node == node || slices.Contains(f.Also, node))
}

// fileNodes returns the nodes that have a file, each its own; any one of them if the
// storage is shared.
func (p *planner) fileNodes(volume, any string) []string {
	f, ok := p.have.FilesLike(volume)[volume]
	switch {
	case !ok:
		return nil
	case p.sharedVolume(volume):
		return []string{any}
	}
	return append([]string{f.Node}, f.Also...)
}

func (p *planner) sharedVolume(volume string) bool { return p.sharedOn(model.StorageOf(volume)) }

// sharedOn reports whether all nodes have the same files on a storage.
func (p *planner) sharedOn(storage string) bool {
	s := p.have.Storages[storage]
	return s == nil || s.Shared
}
