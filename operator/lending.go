package operator

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// lending knows which namespaces refer to objects of others: they are translated again
// when such an object changes, is shared or isn't any more, and the namespace that has it
// when the number of its users changes.
type lending struct {
	feed kube.Feed // of namespaces

	mu   sync.Mutex
	uses map[string]map[model.Key]int // by namespace, the machines that use each object
}

func newLending() *lending { return &lending{uses: map[string]map[model.Key]int{}} }

// note takes over what the machines of a namespace refer to in others.
func (l *lending) note(namespace string, uses map[model.Key]int) {
	l.mu.Lock()
	was := l.uses[namespace]
	if l.uses[namespace] = uses; len(uses) == 0 {
		delete(l.uses, namespace)
	}
	l.mu.Unlock()
	changed := map[string]bool{}
	for _, all := range []map[model.Key]int{was, uses} {
		for key := range all {
			if was[key] != uses[key] {
				changed[key.Namespace] = true
			}
		}
	}
	for other := range changed {
		l.feed.Wake(types.NamespacedName{Namespace: other})
	}
}

// users are the namespaces that refer to an object of another one.
func (l *lending) users(_ context.Context, o client.Object) []reconcile.Request {
	key := model.Key{Kind: manifest.KindOf(o), Namespace: o.GetNamespace(), Name: o.GetName()}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []reconcile.Request
	for _, namespace := range slices.Sorted(maps.Keys(l.uses)) {
		if _, uses := l.uses[namespace][key]; uses {
			all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}})
		}
	}
	return all
}

// borrowed returns the objects of other namespaces that the machines of this one refer to
// and may use. Objects that another Kubernetes manages are added to apart instead.
func (n *namespaces) borrowed(ctx context.Context, namespace string, objects []object, apart map[model.Key]string) ([]object, error) {
	uses := kube.Users(objects)
	n.lending.note(namespace, uses)
	if len(n.watched) > 0 {
		uses = maps.Clone(uses)
		maps.DeleteFunc(uses, func(key model.Key, _ int) bool { return !slices.Contains(n.watched, key.Namespace) })
	}
	lent, err := kube.Lent(ctx, n.client, namespace, uses)
	if err != nil {
		return nil, err
	}
	var ours []object
	for _, o := range lent {
		names, err := n.recordOf(ctx, o.GetNamespace())
		if err != nil {
			return nil, err
		}
		ours = append(ours, names.ours([]object{o}, apart)...)
	}
	return ours, nil
}

// lentTo counts the machines of other namespaces that use objects of this one. It asks
// for all machines, since an object must not go before they were counted.
func (n *namespaces) lentTo(ctx context.Context, objects []object) (map[model.Key]int, error) {
	shared := map[model.Key]api.Namespaces{}
	for _, o := range objects {
		if with := manifest.SharedWith(o); len(with) > 0 {
			shared[keyOf(o)] = with
		}
	}
	if len(shared) == 0 {
		return nil, nil
	}
	machines, err := n.machineObjects(ctx)
	if err != nil {
		return nil, err
	}
	lent := map[model.Key]int{}
	for _, o := range machines {
		kube.EachRef(o, func(key model.Key, machines int) {
			if key.Namespace != o.GetNamespace() && shared[key].Include(o.GetNamespace()) {
				lent[key] += machines
			}
		})
	}
	return lent, nil
}
