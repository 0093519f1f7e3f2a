package operator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// namespaces translates namespaces: all objects of one become what is wanted of
// each of its Providers.
type namespaces struct {
	*deps
	finder *finder

	mu   sync.Mutex
	next map[string]time.Time // not before then again
}

// Reconcile translates one namespace.
func (n *namespaces) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	if wait := n.early(r.Namespace); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	begun := time.Now()
	defer func() { n.rest(r.Namespace, time.Since(begun)) }()
	objects, err := kube.Objects(ctx, n.client, r.Namespace, client.UnsafeDisableDeepCopy)
	if err != nil {
		return reconcile.Result{}, err
	}
	search := n.finder.begin(ctx)
	set, err := kube.Set(objects)
	if err != nil {
		return reconcile.Result{}, err
	}
	parts := set.Parts(manifest.Options{Set: n.set, Find: search.find})
	search.end(r.Namespace)
	if search.err != nil {
		return reconcile.Result{}, search.err
	}
	found, work := apportion(objects, parts)
	n.ledger.translated(r.Namespace, found)
	if !n.sites.assign(r.Namespace, work) {
		return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	return reconcile.Result{}, nil
}

// Changes often come many at once, and a translation takes the longer the more there
// is: it takes at most a fifth of the time.
const (
	shortestRest = 200 * time.Millisecond
	restFactor   = 4
)

func (n *namespaces) early(namespace string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Until(n.next[namespace])
}

func (n *namespaces) rest(namespace string, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next[namespace] = time.Now().Add(max(shortestRest, restFactor*took))
}

// apportion says of each object what was found out about it, and of each Provider
// what it is to do. What is in Proxmox belongs to an object with a finalizer; as long
// as one hasn't got it, nothing is made for it.
func apportion(objects []object, parts manifest.Parts) (map[model.Key]found, map[model.Key]assignment) {
	all := make(map[model.Key]found, len(objects))
	held := make(map[model.Key]bool, len(objects))
	for _, o := range objects {
		key := keyOf(o)
		held[key] = controllerutil.ContainsFinalizer(o, finalizer)
		all[key] = found{uid: o.GetUID(), identity: manifest.Identity(o), version: o.GetGeneration(), deleting: o.GetDeletionTimestamp() != nil, early: !held[key]}
		if vm, ok := o.(*api.VirtualMachine); ok && vm.Spec.Count != nil {
			f := all[key]
			f.group = true
			if vm.Spec.UpdatePolicy.ScaleDown != api.Allow {
				f.surplus = manifest.Surplus(vm)
			}
			all[key] = f
		}
	}
	problems(all, parts.Errors)
	users(all, objects)
	work := make(map[model.Key]assignment, len(parts.Wanted))
	for _, w := range parts.Wanted {
		a := assignment{desired: w.Desired, versions: map[model.Key]int64{}}
		if all[w.Provider].problem == "" {
			a.connection = &w.Connection
		}
		d := &a.desired
		groups := groupsOf(*d)
		early := func(key model.Key) bool {
			if group, ok := groups[key]; ok {
				key = group
			}
			return !held[key] && all[key].uid != ""
		}
		d.Images = slices.DeleteFunc(d.Images, func(i model.Image) bool { return early(i.Owner.Key) })
		d.VMs = slices.DeleteFunc(d.VMs, func(v model.VM) bool { return early(v.Owner.Key) || early(v.Source.Image) || early(v.Source.VM) })
		d.Snapshots = slices.DeleteFunc(d.Snapshots, func(s model.Snapshot) bool { return early(s.Owner.Key) || early(s.VM) })
		owners(*d, func(key model.Key) {
			object := key
			if group, ok := groups[key]; ok {
				object = group
			}
			f := all[object]
			if !slices.Contains(f.sites, w.Provider) {
				f.sites = append(f.sites, w.Provider)
			}
			if object != key {
				f.members = append(f.members, key.Name)
			}
			if f.uid != "" {
				all[object] = f
			}
			a.versions[key] = f.version
		})
		for _, s := range d.Snapshots {
			f := all[s.Owner.Key]
			f.snapshot = s.Name
			all[s.Owner.Key] = f
		}
		p := all[w.Provider]
		p.machines, p.needs = len(d.VMs), needs(*d)
		all[w.Provider] = p
		work[w.Provider] = a
	}
	return all, work
}

// groupsOf says of each machine that is one of several which object stands for them.
func groupsOf(d model.Desired) map[model.Key]model.Key {
	groups := map[model.Key]model.Key{}
	for i := range d.VMs {
		if v := &d.VMs[i]; v.Group != "" {
			key := v.Owner.Key
			key.Name = v.Group
			groups[v.Owner.Key] = key
		}
	}
	return groups
}

// needs says what of a Provider is in Proxmox, or may be.
func needs(d model.Desired) string {
	images := 0
	for _, i := range d.Images {
		if i.URL != "" {
			images++
		}
	}
	switch {
	case len(d.VMs) > 0:
		return status.Count(len(d.VMs), "machine is", "machines are")
	case images > 0:
		return status.Count(images, "fetched image is", "fetched images are")
	}
	return ""
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

// users counts the machines that use something.
func users(all map[model.Key]found, objects []object) {
	use := func(by object, many int, kind string, ref *api.Ref) {
		if ref == nil {
			return
		}
		key := model.Key{Kind: kind, Namespace: by.GetNamespace(), Name: ref.Name}
		if f, there := all[key]; there {
			f.machines += many
			all[key] = f
		}
	}
	for _, o := range objects {
		switch m := o.(type) {
		case *api.VirtualMachine:
			many := 1
			if m.Spec.Count != nil {
				many = *m.Spec.Count
			}
			use(m, many, "VMClass", &m.Spec.ClassRef)
			use(m, many, "VMImage", m.Spec.ImageRef)
			use(m, many, "VMPlacementPolicy", m.Spec.PlacementRef)
		case *api.VMClone:
			use(m, 1, "VMClass", m.Spec.ClassRef)
			use(m, 1, "VMImage", &m.Spec.SourceVMRef)
			use(m, 1, "VMPlacementPolicy", m.Spec.PlacementRef)
		}
	}
}
