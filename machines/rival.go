package machines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// rival is a machine-controller that runs in the same Kubernetes. Two controllers of one MachineSet would create twice as many machines, and then delete too
// many, again and again. A machine-controller that runs renews its lease.
type rival struct {
	live client.Reader
	log  *slog.Logger

	clear chan struct{} // closed when there is none
	runs  atomic.Bool
}

// What machine-controller's leader election uses unless it is told otherwise.
const (
	rivalNamespace = "kube-system"
	rivalLease     = "machine-controller"
)

const (
	rivalAge   = 10 * time.Minute // a lease that was renewed before that is nobody's, however much clocks differ
	rivalQuiet = 20 * time.Second // a machine-controller that runs renews its lease more often
	rivalAgain = 2 * time.Second
	rivalWatch = 15 * time.Second
)

// errRival ends a process that controls MachineDeployments, which machine-controller does from now on: the next process leaves them to it.
var errRival = errors.New("machine-controller runs in this Kubernetes, too, and controls MachineDeployments: leaving them to it (--machines-beside, or machines.beside in the chart's values, says that it stays)")

func newRival(live client.Reader, log *slog.Logger) *rival {
	return &rival{live: live, log: log, clear: make(chan struct{})}
}

// Start waits until no machine-controller runs, and then watches that none begins to.
func (r *rival) Start(ctx context.Context) error {
	if !r.wait(ctx) {
		return nil
	}
	r.runs.Store(false)
	close(r.clear)
	var last string
	for pause(ctx, rivalWatch) {
		switch now, err := r.renewed(ctx); {
		case err != nil || now == "":
		case last != "" && now != last:
			return errRival
		default:
			last = now
		}
	}
	return nil
}

// wait waits until nobody renews the lease; false: the process ends.
func (r *rival) wait(ctx context.Context) bool {
	var last string
	var since time.Time
	for {
		now, err := r.renewed(ctx)
		switch {
		case err != nil:
			r.log.Warn("find out whether machine-controller runs", "error", err)
		case now == "", now == last && time.Since(since) >= rivalQuiet:
			return true
		case now != last:
			if last != "" && r.runs.CompareAndSwap(false, true) {
				r.log.Warn("machine-controller controls MachineDeployments and MachineSets as long as it runs; only Machines whose cloudProvider is proxmox are looked after here", "lease", rivalNamespace+"/"+rivalLease)
			}
			last, since = now, time.Now()
		}
		if !pause(ctx, rivalAgain) {
			return false
		}
	}
}

// renewed says by whom and when the lease was renewed last; empty: nobody has it.
func (r *rival) renewed(ctx context.Context) (string, error) {
	var l coordinationv1.Lease
	err := r.live.Get(ctx, client.ObjectKey{Namespace: rivalNamespace, Name: rivalLease}, &l)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", err
	}
	holder, at := l.Spec.HolderIdentity, l.Spec.RenewTime
	if holder == nil || *holder == "" || at == nil || time.Since(at.Time) > rivalAge {
		return "", nil
	}
	return fmt.Sprint(*holder, " ", at.UnixNano()), nil
}

// pause waits; false: the process ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// held is a controller that starts when no machine-controller runs.
type held struct {
	manager.Runnable
	rival *rival
}

// Start implements the manager's interface of runnables.
func (h held) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.rival.clear:
		return h.Runnable.Start(ctx)
	}
}
