package kube

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is the queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Priorities of queued objects: objects that are being deleted come first, so that a thousand new machines don't keep one of them waiting.
const (
	Usual  = 0
	Urgent = 100
)

// Enqueue adds an object to a queue, with a priority if the queue has priorities.
func Enqueue(q Queue, name types.NamespacedName, priority int) {
	r := reconcile.Request{NamespacedName: name}
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		p.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, r)
		return
	}
	q.Add(r)
}

// Feed is a source of a controller: it requeues objects when something outside of Kubernetes has changed. It never blocks, and loses
// no object after the controller has started.
type Feed struct {
	mu    sync.Mutex
	queue Queue
}

// Start implements the controller's interface of sources.
func (f *Feed) Start(_ context.Context, q Queue) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = q
	return nil
}

// Wake requeues an object.
func (f *Feed) Wake(name types.NamespacedName) { f.WakeAt(name, Usual) }

// WakeAt requeues an object with a priority.
func (f *Feed) WakeAt(name types.NamespacedName, priority int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queue != nil {
		Enqueue(f.queue, name, priority)
	}
}
