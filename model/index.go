package model

import "slices"

// Put adds a guest, or takes it in the place of what was known of it before,
// without looking at the others.
func (o *Observed) Put(g *Guest) {
	ix := o.indexed()
	o.Drop(g.VMID)
	if o.Guests == nil {
		o.Guests = map[int]*Guest{}
	}
	o.Guests[g.VMID] = g
	ix.byName[g.Name] = append(ix.byName[g.Name], g)
	if id, _, ok := ParseStateTag(g.Tags); ok {
		ix.byOwner[id] = append(ix.byOwner[id], g)
	}
}

// Drop forgets a guest.
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

// AddTask adds a running task. Nobody may hold on to the list of tasks meanwhile.
func (o *Observed) AddTask(t Task) {
	ix := o.indexed()
	o.Tasks = append(o.Tasks, t)
	ix.byVM[t.VMID] = append(ix.byVM[t.VMID], t)
}

// DropTask forgets a task that has ended. Nobody may hold on to the list of tasks
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
