package model

import (
	"cmp"
	"maps"
	"slices"
)

// guestIndex finds guests without looking at all of them. Its lists of guests are in the
// order of VMIDs, so that equal worlds look equal.
type guestIndex struct {
	byName  map[string][]*Guest
	byOwner map[string][]*Guest // by owner ID in the tag
	byVM    map[int][]Task
}

// Index rebuilds the indices. It must be called after Guests or Tasks were changed.
func (o *Observed) Index() {
	ix := &guestIndex{
		byName:  make(map[string][]*Guest, len(o.Guests)),
		byOwner: make(map[string][]*Guest, len(o.Guests)),
		byVM:    map[int][]Task{},
	}
	for _, vmid := range slices.Sorted(maps.Keys(o.Guests)) {
		g := o.Guests[vmid]
		ix.byName[g.Name] = append(ix.byName[g.Name], g)
		if id, _, ok := ParseStateTag(g.Tags); ok {
			ix.byOwner[id] = append(ix.byOwner[id], g)
		}
	}
	for _, t := range o.Tasks {
		ix.byVM[t.VMID] = append(ix.byVM[t.VMID], t)
	}
	o.index = ix
}

func (o *Observed) indexed() *guestIndex {
	if o.index == nil {
		o.Index()
	}
	return o.index
}

// Named returns the guests of that name; names aren't unique in Proxmox.
func (o *Observed) Named(name string) []*Guest { return o.indexed().byName[name] }

// Tagged returns the guests whose tag names the owner. Clones copy tags, so this is a hint
// and no proof.
func (o *Observed) Tagged(owner Owner) []*Guest { return o.indexed().byOwner[owner.ID()] }

// TaggedAs returns the guests whose tags name the same owner as the tag of g, including g.
func (o *Observed) TaggedAs(g *Guest) []*Guest {
	id, _, _ := ParseStateTag(g.Tags)
	return o.indexed().byOwner[id]
}

// TasksOf returns the running tasks that are filed under a VMID.
func (o *Observed) TasksOf(vmid int) []Task { return o.indexed().byVM[vmid] }

// Put adds or replaces a guest, without rebuilding the index.
func (o *Observed) Put(g *Guest) {
	ix := o.indexed()
	o.Drop(g.VMID)
	if o.Guests == nil {
		o.Guests = map[int]*Guest{}
	}
	o.Guests[g.VMID] = g
	insert(ix.byName, g.Name, g)
	if id, _, ok := ParseStateTag(g.Tags); ok {
		insert(ix.byOwner, id, g)
	}
}

// Drop removes a guest.
func (o *Observed) Drop(vmid int) {
	old := o.Guests[vmid]
	if old == nil {
		return
	}
	ix := o.indexed()
	delete(o.Guests, vmid)
	remove(ix.byName, old.Name, old)
	if id, _, ok := ParseStateTag(old.Tags); ok {
		remove(ix.byOwner, id, old)
	}
}

// AddTask adds a running task. Callers must not keep the list of tasks meanwhile.
func (o *Observed) AddTask(t Task) {
	ix := o.indexed()
	o.Tasks = append(o.Tasks, t)
	ix.byVM[t.VMID] = append(ix.byVM[t.VMID], t)
}

// DropTask removes a task that has ended. Callers must not keep the list of tasks
// meanwhile.
func (o *Observed) DropTask(upid string) {
	ix := o.indexed()
	is := func(t Task) bool { return t.UPID == upid }
	i := slices.IndexFunc(o.Tasks, is)
	if i < 0 {
		return
	}
	vmid := o.Tasks[i].VMID
	o.Tasks = slices.Delete(o.Tasks, i, i+1)
	list := ix.byVM[vmid]
	if i = slices.IndexFunc(list, is); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if ix.byVM[vmid] = list; len(list) == 0 {
		delete(ix.byVM, vmid)
	}
}

// insert puts a guest where it belongs, in a list of its own, since the old one may
// still be read.
func insert(into map[string][]*Guest, key string, g *Guest) {
	list := into[key]
	at, _ := slices.BinarySearchFunc(list, g, func(a, b *Guest) int { return cmp.Compare(a.VMID, b.VMID) })
	into[key] = slices.Insert(slices.Clip(list), at, g)
}

// remove takes a guest out of a list of its own, since the old one may still be
// read.
func remove(from map[string][]*Guest, key string, g *Guest) {
	list := slices.DeleteFunc(slices.Clone(from[key]), func(o *Guest) bool { return o == g })
	if len(list) == 0 {
		delete(from, key)
		return
	}
	from[key] = list
}
