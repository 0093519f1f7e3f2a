package operator

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// apportion says of each object what was found out about it, and of each Provider
// what it is to do.
func apportion(objects []object, names record, parts manifest.Parts, lent map[model.Key]int) (map[model.Key]found, map[model.Key]assignment) {
	all := make(map[model.Key]found, len(objects))
	for _, o := range objects {
		f := foundOf(o)
		if f.problem = names.elsewhere(o); f.problem != "" {
			f.reason = model.ReasonElsewhere
		}
		all[keyOf(o)] = f
	}
	problems(all, parts.Errors)
	users(all, objects)
	for key, machines := range lent {
		f := all[key]
		f.machines, f.lent = f.machines+machines, machines
		all[key] = f
	}
	work := make(map[model.Key]assignment, len(parts.Wanted))
	for _, w := range parts.Wanted {
		work[w.Provider] = assign(w, all)
	}
	doubtEmpty(all, objects)
	holdProviders(all, objects)
	return all, work
}

// foundOf is what an object says of itself.
func foundOf(o object) found {
	f := found{
		uid: o.GetUID(), identity: manifest.Identity(o), version: o.GetGeneration(), edition: edition(o),
		deleting: o.GetDeletionTimestamp() != nil, released: kube.Released(o), early: !controllerutil.ContainsFinalizer(o, finalizer) || unrecorded(o) && o.GetDeletionTimestamp() == nil,
	}
	if p, ok := o.(*api.Provider); ok {
		f.proxmox = cmp.Or(p.Annotations[api.Proxmox], p.Status.Proxmox)
	}
	if i, ok := o.(*api.VMImage); ok {
		f.fetched, f.madeOn = i.Spec.URL != "", i.Status.Providers
	}
	if vm, ok := o.(*api.VirtualMachine); ok && vm.Spec.Count != nil {
		f.group, f.short = true, !f.deleting && uncounted(o)
		if vm.Spec.UpdatePolicy.ScaleDown != api.Allow {
			f.surplus = manifest.Surplus(vm)
		}
	}
	return f
}

// edition identifies a version of an object. The generations of a recreated object begin
// again, though it keeps its identity in Proxmox if it was restored from a backup.
func edition(o object) int64 {
	h := fnv.New64a()
	fmt.Fprint(h, o.GetUID(), " ", o.GetGeneration())
	return int64(h.Sum64())
}

// assign says what a Provider is to do, and notes that with each object that it is for.
func assign(w manifest.Wanted, all map[model.Key]found) assignment {
	a := assignment{desired: w.Desired, versions: map[model.Key]int64{}, version: all[w.Provider].version}
	if all[w.Provider].problem == "" {
		a.connection = &w.Connection
	}
	if slices.ContainsFunc(w.Desired.VMs, func(v model.VM) bool { return v.Remembered != 0 }) {
		a.proxmox = all[w.Provider].proxmox // with none it doesn't matter where they will be
	}
	d, groups := &a.desired, groupsOf(w.Desired)
	for i := range d.Images {
		if all[d.Images[i].Owner.Key].machines > 0 {
			d.Images[i].Deleted = false // it goes when none is made from it any more
		}
	}
	leaveEarly(d, func(key model.Key) bool { return all[groups.object(key)].early })
	owners(*d, func(key model.Key) {
		object := groups.object(key)
		f := all[object]
		a.versions[key] = f.edition
		if f.uid == "" {
			return // a template that no object describes
		}
		if !slices.Contains(f.providers, w.Provider) {
			f.providers = append(f.providers, w.Provider)
		}
		if problem := all[w.Provider].problem; problem != "" {
			f.provider = fmt.Sprintf("Provider %s can't be used: %s", w.Provider.Name, problem)
		}
		if object != key {
			f.members = append(f.members, key.Name)
		}
		all[object] = f
	})
	for _, s := range d.Snapshots {
		f := all[s.Owner.Key]
		f.snapshot = s.Name
		all[s.Owner.Key] = f
	}
	p := all[w.Provider]
	p.machines = len(d.VMs)
	for _, i := range d.Images {
		if i.URL != "" || slices.Contains(all[i.Owner.Key].madeOn, w.Provider.Name) {
			p.images++
		}
	}
	all[w.Provider] = p
	if w.Wrong != "" {
		leaveUnclear(d, func(key model.Key) {
			object := groups.object(key)
			if f := all[object]; f.uid != "" && f.problem == "" {
				f.problem, f.reason = fmt.Sprintf("Provider %s can't be used: %s", w.Provider.Name, w.Wrong), model.ReasonProvider
				all[object] = f
			}
		})
	}
	return a
}

// leaveEarly leaves out what it is too early for. What is in Proxmox belongs to an
// object with a finalizer; as long as one hasn't got it, nothing is made for it.
func leaveEarly(d *model.Desired, early func(model.Key) bool) {
	d.Images = slices.DeleteFunc(d.Images, func(i model.Image) bool { return early(i.Owner.Key) })
	d.VMs = slices.DeleteFunc(d.VMs, func(v model.VM) bool {
		alone := v.Source.Copy && v.Remembered != 0 // what becomes of its source doesn't concern it
		return early(v.Owner.Key) || !alone && (early(v.Source.Image) || early(v.Source.VM))
	})
	d.Snapshots = slices.DeleteFunc(d.Snapshots, func(s model.Snapshot) bool { return early(s.Owner.Key) || early(s.VM) })
}

// leaveUnclear leaves out what isn't known how it should be, since its Provider says something wrong about it. What is
// to go does so, unless somebody wants to have something of it first.
func leaveUnclear(d *model.Desired, held func(model.Key)) {
	out := map[model.Key]bool{}
	for i := range d.VMs {
		if v := &d.VMs[i]; !v.Deleted {
			out[v.Owner.Key], out[v.Source.VM] = true, true
		}
	}
	drop := func(key model.Key, drop bool) bool {
		if drop {
			held(key)
		}
		return drop
	}
	d.Images = slices.DeleteFunc(d.Images, func(i model.Image) bool { return drop(i.Owner.Key, !i.Deleted) })
	d.VMs = slices.DeleteFunc(d.VMs, func(v model.VM) bool { return drop(v.Owner.Key, out[v.Owner.Key]) })
	d.Snapshots = slices.DeleteFunc(d.Snapshots, func(s model.Snapshot) bool { return drop(s.Owner.Key, out[s.VM]) })
}

// grouping says of each machine that is one of several which object stands for them.
type grouping map[model.Key]model.Key

func groupsOf(d model.Desired) grouping {
	groups := grouping{}
	for i := range d.VMs {
		if v := &d.VMs[i]; v.Group != "" {
			key := v.Owner.Key
			key.Name = v.Group
			groups[v.Owner.Key] = key
		}
	}
	return groups
}

// object is the object that a machine is of, or anything else itself.
func (g grouping) object(key model.Key) model.Key {
	if group, ok := g[key]; ok {
		return group
	}
	return key
}

func owners(d model.Desired, do func(model.Key)) {
	for i := range d.Images {
		do(d.Images[i].Owner.Key)
	}
	for i := range d.VMs {
		do(d.VMs[i].Owner.Key)
	}
	for i := range d.Snapshots {
		do(d.Snapshots[i].Owner.Key)
	}
}

// problems notes what is wrong with each object: the first thing, and how many more
// there are.
func problems(all map[model.Key]found, errs manifest.Errors) {
	more := map[model.Key]int{}
	for _, e := range errs {
		f, there := all[e.Object]
		switch {
		case !there:
		case f.problem != "":
			more[e.Object]++
		default:
			f.problem = e.Text
			if e.Forbidden {
				f.reason = model.ReasonForbidden
			}
			if e.Field != "" {
				f.problem = e.Field + ": " + e.Text
			}
			all[e.Object] = f
		}
	}
	for key, n := range more {
		f := all[key]
		f.problem += fmt.Sprintf(" (and %d more)", n)
		all[key] = f
	}
}

// users counts the machines of the namespace that use something in it.
func users(all map[model.Key]found, objects []object) {
	for _, o := range objects {
		kube.EachRef(o, func(key model.Key, machines int) {
			if f, there := all[key]; there {
				f.machines += machines
				all[key] = f
			}
		})
	}
}
