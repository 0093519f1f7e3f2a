package operator

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// namespaces translates namespaces: all objects of one become what is wanted of
// each of its Providers.
type namespaces struct {
	*deps
	finder *finder
	cached client.Reader // metadata of Secrets

	lending *lending
	watched []string // all that are looked after; none: all there are

	mu   sync.Mutex
	next map[string]time.Time // not before then again
}

// Reconcile translates one namespace.
func (n *namespaces) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	if wait := n.early(r.Namespace); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	begun := time.Now()
	defer func() { n.rest(r.Namespace, time.Since(begun)) }()
	objects, err := kube.Objects(ctx, n.client, r.Namespace, client.UnsafeDisableDeepCopy)
	if err != nil {
		return reconcile.Result{}, err
	}
	search := n.finder.begin(ctx)
	names := recordOf(n.set, objects)
	apart := map[model.Key]string{}
	borrowed, err := n.borrowed(ctx, r.Namespace, objects, apart)
	if err != nil {
		return reconcile.Result{}, err
	}
	lent, err := n.lentTo(ctx, objects)
	if err != nil {
		return reconcile.Result{}, err
	}
	set, err := kube.Set(names.ours(objects, apart), borrowed...)
	if err != nil {
		return reconcile.Result{}, err
	}
	late := func() bool { return time.Since(begun) > longestTranslation }
	parts := set.Parts(manifest.Options{Set: n.set, Grace: kube.Grace, Find: search.find, Late: late, Apart: func(key model.Key) string { return apart[key] }})
	search.end(r.Namespace)
	if search.err != nil {
		return reconcile.Result{}, search.err
	}
	handOn(parts.Wanted, n.ledger.asks(r.Namespace))
	found, work := apportion(objects, names, parts, lent)
	n.ledger.translated(r.Namespace, found)
	if !n.providers.assign(r.Namespace, work) {
		return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	n.ledger.assigned(r.Namespace)
	return reconcile.Result{}, n.keepSecrets(ctx, r.Namespace, objects)
}

// Changes often come many at once, and a translation takes the longer the more there
// is: it takes at most a fifth of the time.
const (
	shortestRest = 200 * time.Millisecond
	restFactor   = 4
)

// longestTranslation is how long the first-boot data of a namespace may take to read. All
// of them together are bounded, so that it takes seconds even on a busy machine.
const longestTranslation = 30 * time.Second

func (n *namespaces) early(namespace string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Until(n.next[namespace])
}

func (n *namespaces) rest(namespace string, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next[namespace] = time.Now().Add(max(shortestRest, restFactor*took))
}
