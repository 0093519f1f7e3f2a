package pve

import (
	"sync"
	"time"
)

// outage knows that no endpoint could be reached a moment ago, so that not everybody who wants to
// know something asks in vain, several times each. Now and then one does.
type outage struct {
	clock Clock

	mu       sync.Mutex
	failures int // in a row
	last     *Error
	pause    time.Duration
	until    time.Time // until then nobody asks
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
	now := o.clock.Now()
	switch {
	case o.failures < outAfter:
		return nil
	case !now.Before(o.until):
		o.pause = min(2*o.pause, outMost)
		o.until = now.Add(o.pause)
		return nil
	}
	return &Error{Kind: o.last.Kind, Method: r.method, Path: r.path, Text: o.last.Text, Err: o.last.Err}
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
		o.pause, o.until = outFirst, o.clock.Now().Add(outFirst)
	}
}
