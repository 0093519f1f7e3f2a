package site

import (
	"sync"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
)

// Outcome is the outcome of an object.
type Outcome = engine.Outcome

// Options apply to all objects of a caller. The zero value is usable.
type Options struct {
	// Door and Set are those of the owners of the caller's machines. They matter for pruning.
	Door, Set string
	// Range are the VMIDs for machines without one; default: [model.DefaultRange]. It must not
	// change, since machines are found by it.
	Range model.Range
	// Allow are effects that are allowed for all machines, in addition to what each of
	// them allows.
	Allow model.Allow
	// MaxUnavailable limits how many of the caller's machines are restarted or replaced at
	// once; zero: no limit.
	MaxUnavailable model.Limit

	// Options are for the engine: receivers of events, and the store of VMIDs. Of several
	// callers, the first one's Parallel counts.
	engine.Options
}

// Site is one caller's part of a Proxmox cluster. It is safe for use by many goroutines.
type Site struct {
	cluster *cluster
	opts    Options

	mu       sync.Mutex
	session  *engine.Session // nil: nothing was wanted yet
	closed   bool
	stale    bool // the session is about to ask for what is wanted
	want     wanted
	latest   map[model.Key]Outcome // in the version that is wanted
	trouble  *plan.Wait
	since    time.Time // of trouble
	watchers map[*watcher]bool
}

func newSite(c *cluster, opts Options) *Site {
	if opts.Range == (model.Range{}) {
		opts.Range = model.DefaultRange
	}
	s := &Site{cluster: c, opts: opts, latest: map[model.Key]Outcome{}, watchers: map[*watcher]bool{}}
	s.want.reset()
	return s
}

// Close ends the caller's part. Machines stay as they are. It returns when no request for
// this caller is in flight any more; tasks that were started continue in Proxmox.
func (s *Site) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	session, owners := s.session, s.want.owners()
	s.wake()
	s.mu.Unlock()
	s.cluster.leave(s, session)
	s.cluster.disown(s, owners...)
}

// begin starts the session. The caller holds the lock.
func (s *Site) begin() *engine.Session {
	if s.session == nil && !s.closed {
		opts := s.opts.Options
		opts.Changed, opts.Trouble = s.changed, s.troubled
		s.session = s.cluster.join(opts)
	}
	return s.session
}

// Client returns the cluster's client, for reads that the site has no method for. Changes
// are made by putting and removing.
func (s *Site) Client() *pve.Client { return s.cluster.client }

// Observer returns the observer of the cluster.
func (s *Site) Observer() *observe.Observer { return s.cluster.observer }

// Identity returns the fingerprint of the cluster's root certificate. It is empty if it
// wasn't requested (see [Config].Identify), or isn't known.
func (s *Site) Identity() string { return s.cluster.observer.Identity() }

// Look requests that everything is observed now, since it may have changed.
func (s *Site) Look() {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		session.Look()
	}
}

// recheck compares one object with Proxmox again, since it was changed without a plan.
func (s *Site) recheck(owner model.Owner) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		session.Recheck(owner)
	}
}

// Touches reports whether something may still be changed in Proxmox for the object with
// that UID.
func (s *Site) Touches(uid string) bool {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	return session != nil && session.Touches(uid)
}

// Relogin switches to other credentials. It reports false if that isn't possible because
// others share the present ones: open a new site then, and close this one.
func (s *Site) Relogin(credentials pve.Credentials) (bool, error) {
	ok, err := s.cluster.relogin(credentials)
	if ok {
		s.Look()
	}
	return ok, err
}
