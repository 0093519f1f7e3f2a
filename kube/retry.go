package kube

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Pauses after failures, such as while Kubernetes' API or Proxmox is away.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// Retries returns the pauses after which a controller retries. Without it, controllers wait up to 17 minutes, also when an outage is long over.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}
