package robustness

import (
	"net/http"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/pvesim"
)

// load watches how much one process asks of one storage at once.
type load struct {
	mu     sync.Mutex
	flying map[string]int // clones that are being asked for
	most   int
}

// enter notes a request, until it is answered.
func (l *load) enter(r *run, e *entry) (leave func()) {
	if e.method != http.MethodPost || e.call() != "clone" {
		return func() {}
	}
	at := r.h.world.homes[e.vmid()]
	if at == "" {
		return func() {}
	}
	key := e.who + " " + at
	l.mu.Lock()
	if l.flying == nil {
		l.flying = map[string]int{}
	}
	l.flying[key]++
	n := l.flying[key]
	l.mu.Unlock()
	n += r.cloning(e.who, at)
	l.mu.Lock()
	l.most = max(l.most, n)
	l.mu.Unlock()
	if n > r.h.world.atOnce() {
		r.fail("%d clones at once on storage %s, which lets %d in", n, at, r.h.world.Locks.Storage)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.flying[key]--
	}
}

// cloning counts the clones of a process that run on a storage.
func (r *run) cloning(who, at string) (n int) {
	running := map[string]bool{}
	r.sim.Do(func(s *pvesim.State) {
		for _, list := range s.Tasks {
			for _, t := range list {
				if t.Running() && t.Type == "qmclone" {
					running[t.UPID] = true
				}
			}
		}
	})
	return r.trace.count(func(e *entry) bool {
		_, upid, _ := strings.Cut(strings.TrimSuffix(e.answer, `"}`), `{"data":"`)
		return e.who == who && running[upid] && r.h.world.homes[e.vmid()] == at
	})
}

// atOnce is how many clones one process may have under way on a storage.
func (w *world) atOnce() int { return 1000 }
