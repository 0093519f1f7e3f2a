package machines

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/model"
)

// feed wakes Machines.
type feed struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start is called by the controller.
func (f *feed) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = q
	return nil
}

func (f *feed) wake(o model.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queue != nil && o.Kind == Kind {
		f.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.Namespace, Name: o.Name}})
	}
}
