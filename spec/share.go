package spec

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// share is a directory that a machine uses by a mapping.
type share struct{ field, tag, source string }

// sharing is a mapping with who uses it.
type sharing struct {
	model.Share
	first      *Result
	everywhere bool // some machine may be on any node
}

// Shares merges the directories that the machines of a cluster share, since a mapping is for the
// whole cluster.
func (t *Translation) Shares(c *Cluster) []model.Share {
	all, _ := t.sharings(c)
	var out []model.Share
	for _, s := range all {
		slices.Sort(s.Nodes)
		s.Nodes = slices.Compact(s.Nodes)
		if s.everywhere {
			s.Nodes = nil
		}
		out = append(out, s.Share)
	}
	return out
}

// checkShares: a name stands for one directory.
func (t *Translation) checkShares() (errs Errors) {
	var seen []*Cluster
	for _, r := range t.results {
		if slices.Contains(seen, r.cluster) {
			continue
		}
		seen = append(seen, r.cluster)
		_, wrong := t.sharings(r.cluster)
		errs = append(errs, wrong...)
	}
	return errs
}

func (t *Translation) sharings(c *Cluster) (all []*sharing, errs Errors) {
	for _, r := range t.results {
		if r.cluster != c {
			continue
		}
		for _, s := range r.shares {
			i := slices.IndexFunc(all, func(o *sharing) bool { return o.Owner.Name == s.tag })
			if i < 0 {
				i = len(all)
				owner := model.Owner{Door: r.VM.Owner.Door, Set: t.Set, Key: model.ShareKey(s.tag)}
				all = append(all, &sharing{Share: model.Share{Owner: owner, Maker: model.ShareMaker(r.VM.Owner), Path: s.source, Deleted: true}, first: r})
			}
			known := all[i]
			if known.Path != s.source {
				errs = append(errs, r.wrong(s.field+".tag", "%s is the directory %s of %s already; choose another tag, or say via: hook", s.tag, known.Path, known.first.VM.Owner.Title()))
			}
			known.Deleted = known.Deleted && r.VM.Deleted
			known.everywhere = known.everywhere || len(r.VM.Place.Nodes) == 0
			known.Nodes = append(known.Nodes, r.VM.Place.Nodes...)
		}
	}
	return all, errs
}
