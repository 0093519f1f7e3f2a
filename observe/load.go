package observe

import (
	"sync"

	"github.com/proxplane/proxplane/pve"
)

// Loads are the limiters of the clusters that a process works on. All clients of a cluster
// share one, whatever their credentials. Observations aren't shared: they depend on the
// credentials. The zero value is ready to use.
type Loads struct {
	mu sync.Mutex
	of map[string]*pve.Load // by what a cluster is known by, and among whom
}

// share makes a client share the limiter of its cluster with the other clients that gave
// the same word.
func (l *Loads) share(cluster, among string, client *pve.Client) {
	if l == nil || cluster == "" {
		return
	}
	cluster += " " + among
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

// Sharing makes the observer's client share the load of its cluster with the other clients of
// it, as soon as the observer knows which one that is, see [Observer.Identifying]. That is
// before it has observed anything, and so before any change. Only clients with the same word
// share a limiter: the identity that a server reports isn't proved, and a server whose tasks
// never end would use up the limit of all others.
func (o *Observer) Sharing(l *Loads, among string) *Observer {
	o.loads, o.among = l, among
	return o
}
