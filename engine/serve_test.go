package engine_test

import (
	"context"
	"sync"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
)

// session is one that a test talks to.
type session struct {
	*engine.Session
	l      *lab
	cancel context.CancelFunc

	mu      sync.Mutex
	latest  map[string]engine.Outcome
	told    map[string]int
	trouble *plan.Wait
	events  []engine.Event
	claim   func(vmid int) error
	after   func(engine.Outcome) // is called with each outcome; nil: nobody wants to know
}

func (l *lab) serve(c *pve.Client) *session { return l.serveSome(c, 0) }

// serveSome works on so many at once.
func (l *lab) serveSome(c *pve.Client, parallel int) *session {
	return l.serveWith(l.newSession(), c, parallel)
}

// serveWith begins a session that a test has prepared.
func (l *lab) serveWith(s *session, c *pve.Client, parallel int) *session {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	opts := s.listens()
	opts.Parallel = parallel
	s.Session = engineOf(c).Serve(ctx, opts)
	return s
}

// newSession is one that isn't begun yet.
func (l *lab) newSession() *session {
	return &session{l: l, latest: map[string]engine.Outcome{}, told: map[string]int{}}
}

// listens are options that have the test hear all that the session says.
func (s *session) listens() engine.Options {
	return engine.Options{
		Changed: func(o engine.Outcome) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.latest[o.Owner.Name] = o
			s.told[o.Owner.Name]++
			if s.after != nil {
				s.after(o)
			}
		},
		Trouble: func(w *plan.Wait, _ time.Time) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.trouble = w
		},
		Events: func(e engine.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
			s.l.events = append(s.l.events, e)
		},
		Claim: func(_ context.Context, _ model.Owner, vmid int, _ string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.claim != nil {
				return s.claim(vmid)
			}
			return nil
		},
	}
}

func (s *session) end() {
	s.cancel()
	<-s.Done()
}

func (s *session) of(name string) engine.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest[name]
}

// await lets time pass until an object is in a state.
func (s *session) await(name string, want engine.State) engine.Outcome {
	s.l.t.Helper()
	for range 6000 {
		if o := s.of(name); o.State == want {
			return o
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.l.t.Fatalf("%s is %+v, never %s\n%s", name, s.of(name), want, s.l.story())
	return engine.Outcome{}
}

// heard returns how often an object was told, and the number of events of all.
func (s *session) heard(name string) (told, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[name], len(s.events)
}

// away returns why Proxmox isn't reached, nil if it is.
func (s *session) away() *plan.Wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

func (s *session) count(kind engine.Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
