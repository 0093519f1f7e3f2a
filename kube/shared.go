package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// Users counts the machines that refer to each object of another namespace.
func Users(objects []Object) map[model.Key]int {
	users := map[model.Key]int{}
	for _, o := range objects {
		EachRef(o, func(key model.Key, machines int) {
			if key.Namespace != o.GetNamespace() {
				users[key] += machines
			}
		})
	}
	return users
}

// EachRef yields the classes, images and policies that an object refers to, and the number
// of its machines.
func EachRef(o Object, do func(key model.Key, machines int)) {
	many := 1
	ref := func(kind string, r *api.SharedRef) {
		if r == nil {
			return
		}
		key := model.Key{Kind: kind, Namespace: r.Namespace, Name: r.Name}
		if key.Namespace == "" {
			key.Namespace = o.GetNamespace()
		}
		do(key, many)
	}
	switch m := o.(type) {
	case *api.VirtualMachine:
		if m.Spec.Count != nil {
			many = *m.Spec.Count
		}
		ref("VMClass", &m.Spec.ClassRef)
		ref("VMImage", m.Spec.ImageRef)
		ref("VMPlacementPolicy", m.Spec.PlacementRef)
	case *api.VMClone:
		ref("VMClass", m.Spec.ClassRef)
		ref("VMImage", &api.SharedRef{Name: m.Spec.SourceVMRef.Name})
		ref("VMPlacementPolicy", m.Spec.PlacementRef)
	}
}

// Lent returns those of some objects that are shared with a namespace. Others are left out,
// whether or not they exist.
func Lent(ctx context.Context, r client.Reader, namespace string, keys map[model.Key]int) ([]Object, error) {
	var lent []Object
	sorted := slices.SortedFunc(maps.Keys(keys), func(a, b model.Key) int { return cmp.Compare(a.String(), b.String()) })
	for _, key := range sorted {
		for _, k := range Kinds {
			if k.Name != key.Kind {
				continue
			}
			o := k.Make()
			err := r.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, o)
			switch {
			case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			case err != nil:
				return nil, fmt.Errorf("read %s: %w", key, err)
			case manifest.SharedWith(o).Include(namespace):
				lent = append(lent, o)
			}
		}
	}
	return lent, nil
}
