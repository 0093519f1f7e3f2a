package kube

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// NewController adds a controller without sources to a manager.
func NewController(name string, mgr manager.Manager, r reconcile.Reconciler, workers int) (controller.Controller, error) {
	o := Options(workers)
	o.Reconciler = UntilTheEnd(r)
	return controller.New(name, mgr, o)
}

// Options returns the options of all controllers: pauses after failures, see [Retries], and a name that other controllers of the process may
// have, too, since tests run several doors in a process.
func Options(workers int) controller.Options {
	skip := true
	return controller.Options{MaxConcurrentReconciles: workers, SkipNameValidation: &skip, RateLimiter: Retries()}
}

// UntilTheEnd drops errors that a reconciler returns because its context has ended.
func UntilTheEnd(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, one reconcile.Request) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, one)
		if ctx.Err() != nil {
			return reconcile.Result{}, nil //nolint:nilerr // it is being stopped: nothing went wrong
		}
		return result, err
	})
}

// Health serves /healthz and /readyz of a manager. A replica is ready when its caches are filled.
func Health(mgr manager.Manager) error {
	var synced atomic.Bool
	wait := everywhere(func(ctx context.Context) error {
		synced.Store(mgr.GetCache().WaitForCacheSync(ctx))
		<-ctx.Done()
		return nil
	})
	return errors.Join(
		mgr.Add(wait),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", func(*http.Request) error {
			if !synced.Load() {
				return errors.New("not all objects were read yet")
			}
			return nil
		}),
	)
}

// everywhere runs on all replicas.
type everywhere func(context.Context) error

// Start implements the manager's interface of runnables.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements the manager's interface.
func (everywhere) NeedLeaderElection() bool { return false }
