package operator

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

// What guests are known by has the name of the Kubernetes in it. Under another name they
// would be made a second time, so each object has the name written down under which it
// was first seen, and is left alone where that is another one.

// record is the name under which the objects of a namespace are known that don't say it
// themselves.
type record struct {
	set  string // this Kubernetes
	name string // written down in a Provider; empty: nowhere
	by   string // the Kubernetes that manages the Provider
}

func recordOf(set string, objects []object) record {
	r := record{set: set}
	for _, o := range objects {
		if p, ok := o.(*api.Provider); ok && r.name == "" {
			r.name, r.by = cmp.Or(p.Annotations[api.ClusterName], p.Status.ClusterName), p.Annotations[api.TakenOverBy]
		}
	}
	return r
}

// of is the name under which an object is known.
func (r record) of(o object) string {
	name := o.GetAnnotations()[api.ClusterName]
	switch p, isProvider := o.(*api.Provider); {
	case name != "":
		return name
	case isProvider && p.Status.ClusterName != "":
		return p.Status.ClusterName
	case r.name == "":
		return r.set
	case o.GetAnnotations()[api.Identity] == "" && r.by == r.set:
		return r.set // it is new
	}
	return r.name
}

// elsewhere says why nothing is done for an object that another Kubernetes has, or may
// have; empty: it is this one's.
func (r record) elsewhere(o object) string {
	name := r.of(o)
	if !hasGuests(keyOf(o).Kind) || name == r.set || o.GetAnnotations()[api.TakenOverBy] == r.set {
		return ""
	}
	return fmt.Sprintf("the object belongs to the Kubernetes named %s, and the operator runs for %s, so nothing is done for it: start the operator with the cluster name %s; "+
		"or, if no operator of %s is left, take all objects of the namespace over: kubectl annotate --overwrite -n %s virtrigaud --all %s=%s",
		name, r.set, name, name, o.GetNamespace(), api.TakenOverBy, r.set)
}

// ours returns the objects that this Kubernetes manages. Reasons why it doesn't manage the
// others are added to apart.
func (r record) ours(objects []object, apart map[model.Key]string) []object {
	var ours []object
	for _, o := range objects {
		if why := r.elsewhere(o); why != "" {
			apart[keyOf(o)] = why
			continue
		}
		ours = append(ours, o)
	}
	return ours
}

// recordOf is the name under which the objects of a namespace are known.
func (d *deps) recordOf(ctx context.Context, namespace string) (record, error) {
	var providers api.ProviderList
	if err := d.client.List(ctx, &providers, client.InNamespace(namespace)); err != nil {
		return record{}, err
	}
	objects := make([]object, len(providers.Items))
	for i := range providers.Items {
		objects[i] = &providers.Items[i]
	}
	return recordOf(d.set, objects), nil
}

// known is the name that is to be written down in an object.
func (d *deps) known(ctx context.Context, obj object) (string, error) {
	names, err := d.recordOf(ctx, obj.GetNamespace())
	return names.of(obj), err
}
