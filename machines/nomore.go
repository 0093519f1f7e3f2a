package machines

import (
	"context"
	"errors"
	"sync"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errNoMore: a MachineSet makes no more machines.
var errNoMore = errors.New("the MachineSet is being deleted")

// parents knows which MachineSets are being deleted, past the cache: Kubernetes' garbage collector deletes the Machines of a MachineSet so soon after it that
// machine-controller's controller, which reads the MachineSet from the cache, would make others in their place.
type parents struct {
	live client.Reader
	now  func() time.Time

	mu   sync.Mutex
	seen map[types.UID]time.Time // when it wasn't being deleted
}

// seenAge is how long that is believed: many machines are made at once.
const seenAge = time.Second

func newParents(live client.Reader) *parents {
	return &parents{live: live, now: time.Now, seen: map[types.UID]time.Time{}}
}

// wants reports whether the MachineSet of a Machine still makes machines; nil: it does, or there is none.
func (p *parents) wants(ctx context.Context, m *clusterv1alpha1.Machine) error {
	of := metav1.GetControllerOf(m)
	if of == nil || of.Kind != "MachineSet" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, known := p.seen[of.UID]; known && p.now().Sub(at) < seenAge {
		return nil
	}
	var set clusterv1alpha1.MachineSet
	if err := p.live.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: of.Name}, &set); client.IgnoreNotFound(err) != nil {
		return err
	}
	if set.UID != of.UID || set.DeletionTimestamp != nil {
		delete(p.seen, of.UID)
		return errNoMore
	}
	p.seen[of.UID] = p.now()
	return nil
}
