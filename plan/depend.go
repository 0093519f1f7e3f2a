package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// planned returns the objects whose plans an object's plan depends on, directly and
// indirectly: it waits until they are ready, or uses their plans.
func (w *Wanted) planned(k model.Key) []model.Key {
	if image, _, _ := k.CopyOf(); w.images[k].On != "" {
		return append([]model.Key{image}, w.copies[image]...)
	}
	if _, ok := w.images[k]; ok {
		return w.copies[k]
	}
	return slices.DeleteFunc(w.Sources(k), func(source model.Key) bool { return !w.has(source) || w.isShare(source) }) // these are in every part
}

// seen returns the objects that an object's plan looks at: their wanted state and their existence count,
// but not their plans.
func (w *Wanted) seen(k model.Key) []model.Key {
	if i, ok := w.images[k]; ok {
		return w.seenByImage(i)
	}
	if v, ok := w.vms[k]; ok {
		return w.seenByVM(v)
	}
	if s, ok := w.snapshots[k]; ok {
		return w.seenBySnapshot(s)
	}
	if g, ok := w.groups[k]; ok {
		return w.seenByGroup(g)
	}
	return w.users[k] // of a share: whether others use it
}

// seenByImage: a template that nothing is made from any more needn't be there, if no object
// describes it.
func (w *Wanted) seenByImage(i model.Image) []model.Key {
	if !i.Implied {
		return nil
	}
	return w.users[i.Owner.Key]
}

// seenByVM: the snapshots and copies of snapshots that keep it from going or from being made
// anew. Those that it must not share a node with are seen, too, see [part.complete].
func (w *Wanted) seenByVM(v model.VM) (list []model.Key) {
	for _, user := range w.users[v.Owner.Key] {
		_, snapshot := w.snapshots[user]
		if snapshot && v.Deleted || w.vms[user].Source.Snapshot != "" {
			list = append(list, user)
		}
	}
	return list
}

// seenBySnapshot: which snapshot of a guest is the oldest that is to go depends on all of
// them, and one that another guest is made from stays.
func (w *Wanted) seenBySnapshot(s model.Snapshot) (list []model.Key) {
	for _, user := range w.users[s.VM] {
		if v, ok := w.vms[user]; !ok || v.Source.Snapshot != "" {
			list = append(list, user)
		}
	}
	return list
}

// seenByGroup: guests of its name that are objects of their own.
func (w *Wanted) seenByGroup(g model.Group) (list []model.Key) {
	for n := g.Count + 1; n <= g.Count+beyond; n++ {
		if key := g.Member(n).Key; w.has(key) {
			list = append(list, key)
		}
	}
	return list
}

// part is a part of what is wanted that grows.
type part struct {
	w     *Wanted
	want  model.Desired
	have  map[model.Key]bool
	grown bool // something more is to be planned
}

// part begins with what every plan looks at.
func (w *Wanted) part() *part {
	all := w.all
	return &part{w: w, have: map[model.Key]bool{}, want: model.Desired{
		Set: all.Set, Door: all.Door, Range: all.Range, MaxUnavailable: all.MaxUnavailable, Allow: all.Allow, Shares: all.Shares, Moves: all.Moves,
		Reserved: w.reserved, Seen: map[model.Key]bool{},
	}}
}

// add adds an object that is to be planned, without what it depends on.
func (p *part) add(k model.Key) {
	p.grown = p.grown || !p.have[k] || p.want.Seen[k]
	p.see(k)
	delete(p.want.Seen, k)
}

// see adds an object that is to be looked at.
func (p *part) see(k model.Key) {
	if p.have[k] {
		return
	}
	p.have[k], p.want.Seen[k] = true, true
	if i, ok := p.w.images[k]; ok {
		p.want.Images = append(p.want.Images, i)
	}
	if v, ok := p.w.vms[k]; ok {
		p.want.VMs = append(p.want.VMs, v)
	}
	if s, ok := p.w.snapshots[k]; ok {
		p.want.Snapshots = append(p.want.Snapshots, s)
	}
	if g, ok := p.w.groups[k]; ok {
		p.want.Groups = append(p.want.Groups, g)
	}
}

// addAll adds the objects of another part, in their order.
func (p *part) addAll(want model.Desired) {
	add := func(k model.Key) {
		if want.Seen[k] {
			p.see(k)
		} else {
			p.add(k)
		}
	}
	for _, i := range want.Images {
		add(i.Owner.Key)
	}
	for _, v := range want.VMs {
		add(v.Owner.Key)
	}
	for _, s := range want.Snapshots {
		add(s.Owner.Key)
	}
	for _, g := range want.Groups {
		add(g.Owner.Key)
	}
}

// complete adds what the plans of some objects depend on.
func (p *part) complete(keys []model.Key) {
	asked, apart := map[model.Key]bool{}, false
	for todo := slices.Clone(keys); len(todo) > 0; todo = todo[1:] {
		k := todo[0]
		if asked[k] {
			continue
		}
		asked[k] = true
		for _, other := range p.w.planned(k) {
			p.add(other)
			todo = append(todo, other)
		}
		for _, other := range p.w.seen(k) {
			p.see(other)
		}
		place := p.w.vms[k].Place
		apart = apart || len(place.AntiAffinity) > 0 || place.SpreadBy != "" || len(devicesOf(p.w.vms[k])) > 0
	}
	if apart {
		for _, other := range p.w.labelled {
			p.see(other)
		}
	}
}
