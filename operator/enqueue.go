package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/proxplane/proxplane/kube"
)

// enqueue adds objects of watch events to a queue, by the key to reconcile.
type enqueue[T client.Object] func(T) (types.NamespacedName, bool)

func (e enqueue[T]) put(o T, q kube.Queue) {
	if name, ok := e(o); ok {
		priority := kube.Usual
		if o.GetDeletionTimestamp() != nil {
			priority = kube.Urgent
		}
		kube.Enqueue(q, name, priority)
	}
}

func (e enqueue[T]) Create(_ context.Context, v event.TypedCreateEvent[T], q kube.Queue) {
	e.put(v.Object, q)
}

func (e enqueue[T]) Update(_ context.Context, v event.TypedUpdateEvent[T], q kube.Queue) {
	e.put(v.ObjectNew, q)
}

func (e enqueue[T]) Delete(_ context.Context, v event.TypedDeleteEvent[T], q kube.Queue) {
	e.put(v.Object, q)
}

func (e enqueue[T]) Generic(_ context.Context, v event.TypedGenericEvent[T], q kube.Queue) {
	e.put(v.Object, q)
}
