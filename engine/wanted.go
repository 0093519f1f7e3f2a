package engine

import (
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// wanted finds the parts of what is wanted, so that a few objects can be planned
// without the others.
type wanted struct {
	all       model.Desired
	images    map[model.Key]model.Image
	vms       map[model.Key]model.VM
	snapshots map[model.Key]model.Snapshot
	shares    map[model.Key]model.Share
	groups    map[model.Key]model.Group
	labelled  []model.VM
	users     map[model.Key][]model.Key // what is made from an image or VM, or is of it
	rollouts  map[string][]model.Key    // what is restarted and replaced together, by group
}

func newWanted(all model.Desired) *wanted {
	w := &wanted{
		all: all, images: map[model.Key]model.Image{}, vms: map[model.Key]model.VM{}, snapshots: map[model.Key]model.Snapshot{},
		shares: map[model.Key]model.Share{}, groups: map[model.Key]model.Group{}, users: map[model.Key][]model.Key{}, rollouts: map[string][]model.Key{},
	}
	for _, g := range all.Groups {
		w.groups[g.Owner.Key] = g
	}
	for _, s := range all.Shares {
		w.shares[s.Owner.Key] = s
	}
	for _, i := range all.Images {
		w.images[i.Owner.Key] = i
	}
	for _, v := range all.VMs {
		w.vms[v.Owner.Key] = v
		if len(v.Labels) > 0 {
			w.labelled = append(w.labelled, v)
		}
		for _, group := range v.Rollout.Groups {
			w.rollouts[group] = append(w.rollouts[group], v.Owner.Key)
		}
		for _, source := range w.sources(v.Owner.Key) {
			if source != (model.Key{}) {
				w.users[source] = append(w.users[source], v.Owner.Key)
			}
		}
	}
	for _, s := range all.Snapshots {
		w.snapshots[s.Owner.Key] = s
		w.users[s.VM] = append(w.users[s.VM], s.Owner.Key)
	}
	return w
}

// sources are what an object is made from, or is of.
func (w *wanted) sources(k model.Key) []model.Key {
	if s, ok := w.snapshots[k]; ok {
		return []model.Key{s.VM}
	}
	v := w.vms[k]
	list := []model.Key{v.Source.Image, v.Source.VM}
	for _, name := range v.Shares {
		list = append(list, model.ShareKey(name))
	}
	return list
}

// leftOver notes a guest that is to go because no manifest names it any more, or
// snapshots of one that stays: from now on they are wanted to go.
func (w *wanted) leftOver(o plan.Object) {
	key := o.Owner.Key
	switch {
	case w.isImage(key) || w.isVM(key) || w.isSnapshot(key) || w.isShare(key) || w.isGroup(key):
	case o.LeftOver != model.Key{}:
		w.snapshots[key] = model.Snapshot{Owner: o.Owner, VM: o.LeftOver, LeftOver: true}
		w.users[o.LeftOver] = append(w.users[o.LeftOver], key)
	case o.VMID != 0:
		w.vms[key] = model.VM{Owner: o.Owner, VMID: o.VMID, Deleted: true}
	}
}

// only is what is wanted, reduced to some objects and what they depend on. Those
// asked for come first: what follows is there to be seen, and mustn't take the
// room that they need.
func (w *wanted) only(objects []*object) model.Desired {
	want := model.Desired{Set: w.all.Set, MaxUnavailable: w.all.MaxUnavailable, Allow: w.all.Allow, Shares: w.all.Shares}
	have := map[model.Key]bool{}
	spread := false
	for _, o := range objects {
		key := o.owner.Key
		switch {
		case w.isImage(key):
			w.addImage(&want, key, have)
		case w.isVM(key):
			w.addVM(&want, key, have)
			if w.vms[key].Deleted {
				w.addSnapshots(&want, key, have) // they keep it from going
			}
			spread = spread || len(w.vms[key].Place.AntiAffinity) > 0
		case w.isSnapshot(key):
			w.addSnapshots(&want, w.snapshots[key].VM, have)
		case w.isGroup(key):
			want.Groups = append(want.Groups, w.groups[key])
		case w.isShare(key):
			for _, user := range w.users[key] {
				w.addVM(&want, user, have)
			}
		default:
			// What is left over of this set can't be named yet: its guests have to
			// be looked at.
			return w.all
		}
	}
	for _, s := range want.Snapshots {
		w.addVM(&want, s.VM, have)
	}
	w.addSources(&want, have)
	if spread {
		for _, v := range w.labelled {
			w.addVM(&want, v.Owner.Key, have)
		}
	}
	return want
}

// addSources adds what the guests are made from.
func (w *wanted) addSources(want *model.Desired, have map[model.Key]bool) {
	for i := 0; i < len(want.VMs); i++ {
		source := want.VMs[i].Source
		w.addImage(want, source.Image, have)
		w.addVM(want, source.VM, have)
	}
}

// going tells whether something is to go.
func (w *wanted) going(k model.Key) bool {
	return w.vms[k].Deleted || w.images[k].Deleted || w.snapshots[k].Deleted || w.shares[k].Deleted
}

func (w *wanted) isGroup(k model.Key) bool    { _, ok := w.groups[k]; return ok }
func (w *wanted) isShare(k model.Key) bool    { _, ok := w.shares[k]; return ok }
func (w *wanted) isImage(k model.Key) bool    { _, ok := w.images[k]; return ok }
func (w *wanted) isVM(k model.Key) bool       { _, ok := w.vms[k]; return ok }
func (w *wanted) isSnapshot(k model.Key) bool { _, ok := w.snapshots[k]; return ok }

func (w *wanted) addImage(want *model.Desired, key model.Key, have map[model.Key]bool) {
	if i, ok := w.images[key]; ok && !have[key] {
		have[key] = true
		want.Images = append(want.Images, i)
	}
}

func (w *wanted) addVM(want *model.Desired, key model.Key, have map[model.Key]bool) {
	if v, ok := w.vms[key]; ok && !have[key] {
		have[key] = true
		want.VMs = append(want.VMs, v)
	}
}

// addSnapshots adds all snapshots of a guest: which one is the oldest that is to
// go depends on all of them.
func (w *wanted) addSnapshots(want *model.Desired, vm model.Key, have map[model.Key]bool) {
	for _, key := range w.users[vm] {
		if s, ok := w.snapshots[key]; ok && !have[key] {
			have[key] = true
			want.Snapshots = append(want.Snapshots, s)
		}
	}
}
