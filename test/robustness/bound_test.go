package robustness

import (
	"errors"
	"time"
)

// A history that doesn't end is a failure, with its trace, and not a test that
// hangs.
const (
	mostRequests = 40_000
	longestLife  = 48 * time.Hour // of virtual time
)

var errEndless = errors.New("the history doesn't end")

// bounded checks that there weren't too many requests.
func (r *run) bounded() {
	r.trace.mu.Lock()
	n := len(r.trace.entries)
	r.trace.mu.Unlock()
	if n == r.limit {
		r.giveUp("%d requests, and no end of it", n)
	}
}

// endless gives up when too much time has passed.
func (r *run) endless() (stop func()) {
	t := time.AfterFunc(longestLife, func() { r.giveUp("%v have passed, and no end of it", longestLife) })
	return func() { t.Stop() }
}

// giveUp ends all that goes on.
func (r *run) giveUp(format string, args ...any) {
	r.fail(format, args...)
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	for _, p := range all {
		p.stop(errEndless)
		p.wire.cut()
	}
	if r.kube != nil {
		for _, p := range r.kube.living() {
			p.wire.cut()
			p.end()
		}
	}
}
