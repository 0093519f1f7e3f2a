// Package killed has a process within a test die at one of its calls, to Proxmox or to Kubernetes: that call is still carried out or not, its answer is lost, and
// no later call gets through.
package killed

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// Err is the error of all calls of a dead process.
var Err = errors.New("the process is dead")

// Process is a process that is killed.
type Process struct {
	mu      sync.Mutex
	left    int  // calls until then
	endless bool // it isn't killed
	arrives bool
	dead    context.CancelFunc
}

// At returns a process that is killed at its nth call, which arrives or doesn't; 0: it isn't killed. The context ends with it, and with ctx.
func At(ctx context.Context, n int, arrives bool) (*Process, context.Context) {
	ctx, dead := context.WithCancel(ctx)
	return &Process{left: n, endless: n == 0, arrives: arrives, dead: dead}, ctx
}

// Kill kills it now.
func (p *Process) Kill() {
	p.mu.Lock()
	p.endless, p.left = false, 0
	p.mu.Unlock()
	p.dead()
}

// next says whether the next call is carried out, and whether its answer arrives.
func (p *Process) next() (done, heard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left--
	switch {
	case p.endless || p.left > 0:
		return true, true
	case p.left == 0:
		return p.arrives, false
	}
	return false, false
}

// Call makes a call.
func (p *Process) Call(call func() error) error {
	done, heard := p.next()
	var err error
	if done {
		err = call()
	}
	if heard {
		return err
	}
	p.dead()
	return Err
}

// Wire is how the process reaches Proxmox.
func (p *Process) Wire(next http.RoundTripper) http.RoundTripper { return wire{p, next} }

type wire struct {
	*Process
	to http.RoundTripper
}

// RoundTrip sends a request, unless the process is dead.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	done, heard := w.next()
	switch {
	case heard:
		return w.to.RoundTrip(r)
	case done:
		// It arrives and is done, whatever becomes of the one who asked.
		res, err := w.to.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		if err == nil {
			_ = res.Body.Close()
		}
	case r.Body != nil:
		_ = r.Body.Close()
	}
	w.dead()
	return nil, Err
}
