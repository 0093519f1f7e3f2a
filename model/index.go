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
	ix.byName[old.Name] = without(ix.byName[old.Name], old)
	if id, _, ok := ParseStateTag(old.Tags); ok {
		ix.byOwner[id] = without(ix.byOwner[id], old)
	}
}

// PutTasks replaces the running tasks.
func (o *Observed) PutTasks(tasks []Task) {
	ix := o.indexed()
	o.Tasks = tasks
	clear(ix.byVM)
	for _, t := range tasks {
		ix.byVM[t.VMID] = append(ix.byVM[t.VMID], t)
	}
}

// without gives a list of its own, since the old one may still be read.
func without(list []*Guest, g *Guest) []*Guest {
	return slices.DeleteFunc(slices.Clone(list), func(o *Guest) bool { return o == g })
}
