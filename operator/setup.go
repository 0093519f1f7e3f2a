package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/model"
)

// setUp connects the parts with each other and with the manager.
func setUp(ctx context.Context, mgr manager.Manager, d *deps) error {
	n := &namespaces{deps: d, cached: mgr.GetCache(), lending: newLending(), watched: d.namespaces, finder: newFinder(mgr.GetCache(), mgr.GetAPIReader(), d.secrets), next: map[string]time.Time{}}
	every, err := kube.NewController("namespace", mgr, n, namespaceWorkers)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		// All replicas have all objects at hand, so that any of them can take over.
		if _, err := mgr.GetCache().GetInformer(ctx, k.Make()); err != nil {
			return fmt.Errorf("watch %s: %w", k.Name, err)
		}
		one, err := kube.NewController(k.Name, mgr, &objects{deps: d, kind: k}, objectWorkers)
		if err == nil {
			err = errors.Join(
				one.Watch(source.Kind[client.Object](mgr.GetCache(), k.Make(), enqueue[client.Object](byName))),
				one.Watch(d.ledger.feeds[k.Name]),
				every.Watch(source.Kind[client.Object](mgr.GetCache(), k.Make(), enqueue[client.Object](byNamespace), relevant{})),
				every.Watch(source.Kind[client.Object](mgr.GetCache(), k.Make(), handler.EnqueueRequestsFromMapFunc(n.lending.users), relevant{})),
			)
		}
		if err != nil {
			return fmt.Errorf("control %s: %w", k.Name, err)
		}
	}
	for _, name := range []string{"Secret", "ConfigMap"} {
		used := func(m *metav1.PartialObjectMetadata) (types.NamespacedName, bool) {
			return types.NamespacedName{Namespace: m.Namespace}, n.finder.uses(model.Key{Kind: name, Namespace: m.Namespace, Name: m.Name})
		}
		if err := every.Watch(source.Kind(mgr.GetCache(), metadata(name), enqueue[*metav1.PartialObjectMetadata](used))); err != nil {
			return fmt.Errorf("watch %s: %w", name, err)
		}
	}
	if err := errors.Join(every.Watch(&n.lending.feed), every.Watch(&d.ledger.asked)); err != nil {
		return fmt.Errorf("watch what is shared: %w", err)
	}
	return errors.Join(mgr.Add(d.providers), kube.Health(mgr))
}

// namespaceWorkers is how many namespaces are translated at once: one whose translation
// takes long doesn't keep the others waiting.
const namespaceWorkers = 4

// objectWorkers is how many objects of a kind are written about at once.
const objectWorkers = 8

func byName(o client.Object) (types.NamespacedName, bool) { return client.ObjectKeyFromObject(o), true }

func byNamespace(o client.Object) (types.NamespacedName, bool) {
	return types.NamespacedName{Namespace: o.GetNamespace()}, true
}

// relevant lets those changes through that may change what is wanted: hardly any of
// the status, which is our own.
type relevant struct{ predicate.Funcs }

func (relevant) Update(e event.UpdateEvent) bool {
	was, is := e.ObjectOld, e.ObjectNew
	return was.GetGeneration() != is.GetGeneration() || was.GetDeletionTimestamp() != nil != (is.GetDeletionTimestamp() != nil) ||
		!maps.Equal(was.GetLabels(), is.GetLabels()) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) || made(was) != made(is) || len(was.GetFinalizers()) != len(is.GetFinalizers())
}

// made says which machines were ever begun for an object: where they are is part of
// what is wanted, and those that it doesn't ask for any more have to go.
func made(o client.Object) string {
	var s api.MachineStatus
	switch o := o.(type) {
	case *api.VirtualMachine:
		s = o.Status
	case *api.VMClone:
		s = o.Status
	case *api.VMImage:
		s.VMID = o.Status.VMID // other namespaces find it by that
	}
	text := s.Provider + " " + strconv.Itoa(s.VMID)
	for _, m := range s.Members {
		text += " " + m.Name + "=" + strconv.Itoa(m.VMID)
	}
	return text
}
