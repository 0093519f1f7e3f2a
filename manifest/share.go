package manifest

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// share is a directory that a machine uses by a mapping.
type share struct{ field, tag, source string }

// sharing is a mapping with who uses it.
type sharing struct {
	model.Share
	first      *machine
	everywhere bool // some machine may be on any node
}

// assignShares puts together what machines of a Provider share: a mapping is for
// all of its cluster.
func (t *translator) assignShares() {
	for _, p := range t.providers {
		var all []*sharing
		t.eachMachine(func(m *machine) {
			if m.provider == p {
				all = m.addShares(all)
			}
		})
		for _, s := range all {
			slices.Sort(s.Nodes)
			s.Nodes = slices.Compact(s.Nodes)
			if s.everywhere {
				s.Nodes = nil
			}
			p.wanted.Desired.Shares = append(p.wanted.Desired.Shares, s.Share)
		}
	}
}

func (m *machine) addShares(all []*sharing) []*sharing {
	for _, s := range m.shares {
		i := slices.IndexFunc(all, func(o *sharing) bool { return o.Owner.Name == s.tag })
		if i < 0 {
			i = len(all)
			owner := model.Owner{Door: Door, Set: m.options.Set, Key: model.ShareKey(s.tag)}
			all = append(all, &sharing{Share: model.Share{Owner: owner, Maker: model.ShareMaker(m.vm.Owner), Path: s.source, Deleted: true}, first: m})
		}
		known := all[i]
		if known.Path != s.source {
			m.fail(s.field+".tag", "%s is the directory %s of %s already; choose another tag, or say via: hook", s.tag, known.Path, title(known.first.o.key))
		}
		known.Deleted = known.Deleted && m.vm.Deleted
		known.everywhere = known.everywhere || len(m.vm.Place.Nodes) == 0
		known.Nodes = append(known.Nodes, m.vm.Place.Nodes...)
	}
	return all
}
