package pve

import (
	"strings"
	"sync"
	"time"
)

// outage knows that no endpoint could be reached a moment ago, so that not everybody who wants to
// know something asks in vain, several times each. Now and then one does, of those who read about
// nodes and guests and of those who read each of the lists: those are asked for side by side, and
// which of them came first must not matter.
type outage struct {
	clock Clock

	mu       sync.Mutex
	failures int // in a row
	last     *Error
	since    time.Time
	next     map[string]turn // by what is read, see [readOf]
}

// turn is when somebody may ask again.
type turn struct {
	pause time.Duration
	at    time.Time
}

const (
	outAfter = 16          // failures in a row: more than a few reads make, with their further tries
	outFirst = time.Second // doubled with each further try
	outMost  = 5 * time.Second
)

// refuse fails reads while nothing can be reached, with the error that the last one got, but for
// one after each pause. Writes always get their chance.
func (o *outage) refuse(r *request) error {
	if r.isWrite() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures < outAfter {
		return nil
	}
	now, read := o.clock.Now(), readOf(r.path)
	next, known := o.next[read]
	if !known {
		next = turn{outFirst, o.since.Add(outFirst)}
	}
	if now.Before(next.at) {
		return &Error{Kind: o.last.Kind, Method: r.method, Path: r.path, Text: o.last.Text, Err: o.last.Err}
	}
	pause := min(2*next.pause, outMost)
	o.next[read] = turn{pause, now.Add(pause)}
	return nil
}

// readOf is what a read is about: nodes and guests, or one of the cluster's lists.
func readOf(path string) string {
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3)
	if parts[0] == "nodes" {
		return parts[0]
	}
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// saw learns that no endpoint could be reached; nil: that one has answered.
func (o *outage) saw(err *Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.failures, o.last = 0, nil
		return
	}
	o.last = err
	if o.failures++; o.failures == outAfter {
		o.since, o.next = o.clock.Now(), map[string]turn{}
	}
}
