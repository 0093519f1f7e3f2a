package site

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// wanted is what a caller wants.
type wanted struct {
	rest     model.Desired // all but the objects
	order    []model.Key   // of all objects
	vms      map[model.Key]model.VM
	images   map[model.Key]model.Image
	snaps    map[model.Key]model.Snapshot
	shares   []model.Share
	groups   []model.Group
	versions map[model.Key]int64
	whole    bool // it was said as a whole
}

func (w *wanted) reset() {
	w.order, w.shares, w.groups = nil, nil, nil
	w.vms, w.images, w.snaps = map[model.Key]model.VM{}, map[model.Key]model.Image{}, map[model.Key]model.Snapshot{}
	w.versions = map[model.Key]int64{}
}

// desired returns the wanted state in the form that the engine takes.
func (w *wanted) desired() model.Desired {
	d := w.rest
	d.Shares, d.Groups = w.shares, w.groups
	for _, k := range w.order {
		if v, ok := w.vms[k]; ok {
			d.VMs = append(d.VMs, v)
		} else if i, ok := w.images[k]; ok {
			d.Images = append(d.Images, i)
		} else if s, ok := w.snaps[k]; ok {
			d.Snapshots = append(d.Snapshots, s)
		}
	}
	return d
}

func (w *wanted) owners() (all []model.Owner) {
	for _, v := range w.vms {
		all = append(all, v.Owner)
	}
	return all
}

// owner returns the owner of the object with a key.
func (w *wanted) owner(k model.Key) (model.Owner, bool) {
	if v, ok := w.vms[k]; ok {
		return v.Owner, true
	}
	if i, ok := w.images[k]; ok {
		return i.Owner, true
	}
	s, ok := w.snaps[k]
	return s.Owner, ok
}

// list appends a key, unless it is there.
func (w *wanted) list(k model.Key) {
	if _, known := w.owner(k); !known {
		w.order = append(w.order, k)
	}
}

func (w *wanted) drop(k model.Key) {
	delete(w.vms, k)
	delete(w.images, k)
	delete(w.snaps, k)
	delete(w.versions, k)
	w.order = slices.DeleteFunc(w.order, func(o model.Key) bool { return o == k })
}
