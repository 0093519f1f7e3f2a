package kube

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Feed is a source of a controller: it requeues objects when something outside of Kubernetes has changed. It never blocks, and loses
// no object after the controller has started.
type Feed struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start implements the controller's interface of sources.
func (f *Feed) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = q
	return nil
}

// Wake requeues an object.
func (f *Feed) Wake(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queue != nil {
		f.queue.Add(reconcile.Request{NamespacedName: name})
	}
}
