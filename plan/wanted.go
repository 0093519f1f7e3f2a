package plan

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Wanted indexes the wanted state by object, with the dependencies of their plans, so that a
// few objects can be planned without the others.
type Wanted struct {
	all       model.Desired
	images    map[model.Key]model.Image
	copies    map[model.Key][]model.Key // the templates of an image that are one a node, as far as they are asked for
	vms       map[model.Key]model.VM
	snapshots map[model.Key]model.Snapshot
	shares    map[model.Key]model.Share
	groups    map[model.Key]model.Group
	labelled  []model.Key
	users     map[model.Key][]model.Key // what is made from an image or VM, is of it, or uses it
	rollouts  map[string][]model.Key    // what is restarted and replaced together, by group
	reserved  map[int]model.Owner
}

// NewWanted indexes a wanted state.
func NewWanted(all model.Desired) *Wanted {
	w := &Wanted{
		all: all, images: map[model.Key]model.Image{}, copies: map[model.Key][]model.Key{}, vms: map[model.Key]model.VM{}, snapshots: map[model.Key]model.Snapshot{},
		shares: map[model.Key]model.Share{}, groups: map[model.Key]model.Group{}, users: map[model.Key][]model.Key{}, rollouts: map[string][]model.Key{},
		reserved: reserved(all.VMs),
	}
	for _, g := range all.Groups {
		w.groups[g.Owner.Key] = g
	}
	for _, s := range all.Shares {
		w.shares[s.Owner.Key] = s
	}
	for _, i := range all.Images {
		w.images[i.Object().Key] = i
		if i.On != "" {
			w.copies[i.Owner.Key] = append(w.copies[i.Owner.Key], i.Object().Key)
		}
	}
	for _, v := range all.VMs {
		w.vms[v.Owner.Key] = v
		if counts(v) {
			w.labelled = append(w.labelled, v.Owner.Key)
		}
		for _, group := range v.Rollout.Groups {
			w.rollouts[group] = append(w.rollouts[group], v.Owner.Key)
		}
		for _, source := range w.Sources(v.Owner.Key) {
			w.users[source] = append(w.users[source], v.Owner.Key)
		}
	}
	for _, s := range all.Snapshots {
		w.snapshots[s.Owner.Key] = s
		w.users[s.VM] = append(w.users[s.VM], s.Owner.Key)
	}
	w.markUsed()
	return w
}

// markUsed notes which images machines are to be made from.
func (w *Wanted) markUsed() {
	for _, v := range w.all.VMs {
		if i, ok := w.images[v.Source.Image]; ok && !v.Deleted {
			i.Used = true
			w.images[v.Source.Image] = i
		}
	}
}

// reserved says who gets a VMID that a manifest names: the first.
func reserved(vms []model.VM) map[int]model.Owner {
	fixed := map[int]model.Owner{}
	for _, v := range vms {
		if _, taken := fixed[v.VMID]; v.VMID != 0 && !taken && !v.Deleted {
			fixed[v.VMID] = v.Owner
		}
	}
	return fixed
}

// All returns the whole wanted state.
func (w *Wanted) All() model.Desired { return w.all }

// Image returns the image with the key, if there is one.
func (w *Wanted) Image(k model.Key) (model.Image, bool) { i, ok := w.images[k]; return i, ok }

// VM returns the guest with the key, if there is one.
func (w *Wanted) VM(k model.Key) (model.VM, bool) { v, ok := w.vms[k]; return v, ok }

// Snapshot returns the snapshot with the key, if there is one.
func (w *Wanted) Snapshot(k model.Key) (model.Snapshot, bool) { s, ok := w.snapshots[k]; return s, ok }

// Share returns the directory mapping with the key, if there is one.
func (w *Wanted) Share(k model.Key) (model.Share, bool) { s, ok := w.shares[k]; return s, ok }

// Going reports whether an object is to be removed.
func (w *Wanted) Going(k model.Key) bool {
	return w.vms[k].Deleted || w.images[k].Deleted || w.snapshots[k].Deleted || w.shares[k].Deleted
}

// Sources returns the objects that an object is made from, belongs to, or uses.
func (w *Wanted) Sources(k model.Key) (list []model.Key) {
	if s, ok := w.snapshots[k]; ok {
		return []model.Key{s.VM}
	}
	v := w.vms[k]
	for _, source := range []model.Key{v.Source.Image, v.Source.VM} {
		if source != (model.Key{}) {
			list = append(list, source)
		}
	}
	for _, name := range v.Shares {
		list = append(list, model.ShareKey(name))
	}
	return list
}

// Users returns the objects that have this one as a source.
func (w *Wanted) Users(k model.Key) []model.Key {
	if image, _, _ := k.CopyOf(); w.images[k].On != "" {
		return append([]model.Key{image}, w.users[image]...)
	}
	return w.users[k]
}

// Copies returns the templates of an image, one per node, that plans have requested.
func (w *Wanted) Copies(image model.Key) []model.Key { return w.copies[image] }

// addCopy notes a template of an image that a plan has asked for: from now on it is wanted.
func (w *Wanted) addCopy(k model.Key) {
	image, node, ok := k.CopyOf()
	i, known := w.images[image]
	if !ok || !known {
		return
	}
	c := i.Copy(node)
	w.images[k] = c
	w.copies[image] = append(w.copies[image], k)
	w.all.Images = append(slices.Clip(w.all.Images), c)
}

// KeepCopies adds templates that earlier plans have requested, of images that are still
// wanted.
func (w *Wanted) KeepCopies(want *model.Desired) {
	for _, i := range want.Images {
		for _, k := range w.copies[i.Owner.Key] {
			old := w.images[k]
			if i.On == "" && !i.Deleted && !i.Lent && old.Owner == i.Owner && i.Identity() == old.Identity() {
				want.Images = append(slices.Clip(want.Images), i.Copy(old.On))
			}
		}
	}
}

// LeftOver adds an object that a plan has found: a template that an image needs on a node, a guest to remove because no
// manifest names it any more, or such snapshots of a guest that is kept.
func (w *Wanted) LeftOver(o Object) {
	key := o.Owner.Key
	switch {
	case w.has(key):
	case o.On != "":
		w.addCopy(key)
	case o.LeftImage != nil:
		w.images[key] = *o.LeftImage
	case o.LeftOver != model.Key{}:
		w.snapshots[key] = model.Snapshot{Owner: o.Owner, VM: o.LeftOver, LeftOver: true}
		w.users[o.LeftOver] = append(w.users[o.LeftOver], key)
	case o.VMID != 0:
		w.vms[key] = model.VM{Owner: o.Owner, VMID: o.VMID, Deleted: true, LeftOver: true}
	}
}

// has reports whether an object is wanted, or is wanted to go.
func (w *Wanted) has(k model.Key) bool {
	_, image := w.images[k]
	_, vm := w.vms[k]
	_, snapshot := w.snapshots[k]
	_, share := w.shares[k]
	_, group := w.groups[k]
	return image || vm || snapshot || share || group
}

func (w *Wanted) isShare(k model.Key) bool { _, ok := w.shares[k]; return ok }

// For returns the wanted state reduced to some objects and what their plans depend on. The
// requested objects come first, so that the others don't get the room that they need.
func (w *Wanted) For(keys ...model.Key) model.Desired {
	part := w.part()
	for _, k := range keys {
		if !w.has(k) {
			// What is left over of this set can't be named yet: its guests have to
			// be looked at.
			return w.all
		}
		part.add(k)
	}
	part.complete(keys)
	return part.want
}

// Rolled adds the guests of the same rollout groups to a part of the wanted state, if its
// plan restarts or replaces a guest.
func (w *Wanted) Rolled(want model.Desired, planned Plan) (all model.Desired, more bool) {
	groups, rolls := map[string]bool{}, false
	for _, p := range planned.Objects {
		held := p.Wait != nil && p.Wait.Reason == model.WaitRollout
		if v, ok := w.vms[p.Owner.Key]; ok && (held || p.Disrupts(v)) {
			rolls = true
			for _, group := range v.Rollout.Groups {
				groups[group] = true
			}
		}
	}
	if !rolls {
		return want, false
	}
	part, along := w.part(), w.rolledWith(groups)
	part.addAll(want)
	part.grown = false
	for _, k := range along {
		part.add(k)
	}
	part.complete(along)
	return part.want, part.grown
}

// rolledWith returns the guests that count when it is decided whether those of some groups may be
// restarted or replaced.
func (w *Wanted) rolledWith(groups map[string]bool) (list []model.Key) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		list = append(list, w.rollouts[group]...)
	}
	if w.all.MaxUnavailable.IsZero() {
		return list
	}
	for _, other := range w.all.VMs {
		list = append(list, other.Owner.Key)
	}
	return list
}
