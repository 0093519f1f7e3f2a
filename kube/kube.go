// Package kube has what the doors in Kubernetes and the kubectl plugins share. It reads the
// objects of a namespace, with the Secrets and ConfigMaps that they name, and sets up controllers
// and health checks, requeues objects that a site reports on, and writes events. Packages below
// it let machines join as nodes, and drain them.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// Object is an object of ours for Kubernetes' libraries.
type Object interface {
	client.Object
	Common() *api.Status
}

// Kind is a kind of objects.
type Kind struct {
	Name string
	Make func() Object
	List func() client.ObjectList
}

// Kinds lists our kinds.
var Kinds = []Kind{
	{"Provider", func() Object { return new(api.Provider) }, func() client.ObjectList { return new(api.ProviderList) }},
	{"VirtualMachine", func() Object { return new(api.VirtualMachine) }, func() client.ObjectList { return new(api.VirtualMachineList) }},
	{"VMClass", func() Object { return new(api.VMClass) }, func() client.ObjectList { return new(api.VMClassList) }},
	{"VMClone", func() Object { return new(api.VMClone) }, func() client.ObjectList { return new(api.VMCloneList) }},
	{"VMImage", func() Object { return new(api.VMImage) }, func() client.ObjectList { return new(api.VMImageList) }},
	{"VMPlacementPolicy", func() Object { return new(api.VMPlacementPolicy) }, func() client.ObjectList { return new(api.VMPlacementPolicyList) }},
	{"VMSnapshot", func() Object { return new(api.VMSnapshot) }, func() client.ObjectList { return new(api.VMSnapshotList) }},
}

// Scheme returns a scheme with our kinds and those of Kubernetes itself.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		panic(err) // two types of the same name
	}
	return scheme
}

// Objects returns the objects of a namespace, the older ones first: the older of two
// conflicting objects wins.
func Objects(ctx context.Context, r client.Reader, namespace string, options ...client.ListOption) ([]Object, error) {
	var all []Object
	options = append([]client.ListOption{client.InNamespace(namespace)}, options...)
	for _, k := range Kinds {
		list := k.List()
		if err := r.List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("list %s: %w", k.Name, err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			all = append(all, o.(Object))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b Object) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all, nil
}

// Set returns the set of some objects, without those that are released, whose machines in
// Proxmox are left alone.
//
// Lent are objects of other namespaces that they refer to, see [Lent].
func Set(objects []Object, lent ...Object) (*manifest.Set, error) {
	values := make([]any, 0, len(objects))
	for _, o := range objects {
		if !Released(o) {
			values = append(values, o)
		}
	}
	set, err := manifest.FromObjects(values...)
	if err != nil {
		return nil, err
	}
	values = values[:0]
	for _, o := range lent {
		values = append(values, o)
	}
	return set, set.Lend(values...)
}

// Grace is the default of how long machines may take to shut down when they are deleted.
const Grace = time.Minute

// Released reports whether an object is being deleted and its annotation keeps its machine
// in Proxmox.
func Released(o Object) bool {
	return o.GetDeletionTimestamp() != nil && o.GetAnnotations()[api.ForceDelete] == "true"
}

// Content reads a Secret or ConfigMap, as manifests have it, with its version; nil:
// there is none.
func Content(ctx context.Context, r client.Reader, key model.Key) (value any, version string, err error) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	if key.Kind == "Secret" {
		var s corev1.Secret
		if err := r.Get(ctx, name, &s); err != nil {
			return nil, "", client.IgnoreNotFound(err)
		}
		return &manifest.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: s.Labels}, Type: string(s.Type), Data: s.Data}, s.ResourceVersion, nil
	}
	var c corev1.ConfigMap
	if err := r.Get(ctx, name, &c); err != nil {
		return nil, "", client.IgnoreNotFound(err)
	}
	return &manifest.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace}, Data: c.Data, BinaryData: c.BinaryData}, c.ResourceVersion, nil
}

// Name returns the default name of a Kubernetes, from the UID of its namespace kube-system.
func Name(ctx context.Context, r client.Reader) (string, error) {
	var system corev1.Namespace
	if err := r.Get(ctx, types.NamespacedName{Name: "kube-system"}, &system); err != nil {
		return "", fmt.Errorf("find out which Kubernetes this is (a name can be given instead): %w", err)
	}
	const enough = 8
	return "k8s-" + string(system.UID[:enough]), nil
}

// Unknown reports whether an error means that our kinds aren't installed.
func Unknown(err error) bool {
	return meta.IsNoMatchError(err)
}
