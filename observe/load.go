package observe

import (
	"sync"

	"github.com/proxplane/proxplane/pve"
)

// Loads are what is under way at the clusters that a process works on. Whoever works on a
// cluster, by whatever address and credentials, is bounded together with the others. What is
// seen isn't shared: it depends on the credentials. The zero value is ready to use.
type Loads struct {
	mu sync.Mutex
	of map[string]*pve.Load // by what a cluster is known by
}

// share has a client of a cluster share the load of it.
func (l *Loads) share(cluster string, client *pve.Client) {
	if l == nil || cluster == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.of[cluster]; known != nil {
		client.Share(known)
		return
	}
	if l.of == nil {
		l.of = map[string]*pve.Load{}
	}
	l.of[cluster] = client.Load()
}

// Sharing has the observer's client share the load of its cluster with the other clients of
// it, as soon as the observer knows which one that is, see [Observer.Identifying]. That is
// before it has seen anything, so before anybody changes something.
func (o *Observer) Sharing(l *Loads) *Observer {
	o.loads = l
	return o
}
