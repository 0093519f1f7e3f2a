package operator

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// What is to go comes before what is to come: a thousand new machines don't keep
// one that is deleted waiting.
const (
	usual  = 0
	urgent = 100
)

// feed puts objects of one kind into the queue of their controller, at the word of
// others than Kubernetes. It never blocks.
type feed struct {
	mu sync.Mutex
	q  queue
}

// Start implements the controller's interface of sources.
func (f *feed) Start(_ context.Context, q queue) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.q = q
	return nil
}

func (f *feed) add(name types.NamespacedName, priority int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.q != nil {
		add(f.q, name, priority)
	}
}

func add(q queue, name types.NamespacedName, priority int) {
	r := reconcile.Request{NamespacedName: name}
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, r)
		return
	}
	q.Add(r)
}

// enqueue adds objects of watch events to a queue, by the key to reconcile.
type enqueue[T client.Object] func(T) (types.NamespacedName, bool)

func (e enqueue[T]) put(o T, q queue) {
	if name, ok := e(o); ok {
		priority := usual
		if o.GetDeletionTimestamp() != nil {
			priority = urgent
		}
		add(q, name, priority)
	}
}

func (e enqueue[T]) Create(_ context.Context, v event.TypedCreateEvent[T], q queue) {
	e.put(v.Object, q)
}

func (e enqueue[T]) Update(_ context.Context, v event.TypedUpdateEvent[T], q queue) {
	e.put(v.ObjectNew, q)
}

func (e enqueue[T]) Delete(_ context.Context, v event.TypedDeleteEvent[T], q queue) {
	e.put(v.Object, q)
}

func (e enqueue[T]) Generic(_ context.Context, v event.TypedGenericEvent[T], q queue) {
	e.put(v.Object, q)
}
