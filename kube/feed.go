package kube

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Feed is a source of a controller that has objects reconciled when something outside of Kubernetes has changed. It never blocks, and
// forgets nothing that it was told after the start of the controller.
type Feed struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start is called by the controller.
func (f *Feed) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = q
	return nil
}

// Wake has an object reconciled.
func (f *Feed) Wake(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queue != nil {
		f.queue.Add(reconcile.Request{NamespacedName: name})
	}
}
