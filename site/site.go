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

// Outcome is how an object is.
type Outcome = engine.Outcome

// Options are what a caller says about all that it wants. The zero value is good.
type Options struct {
	// Door and Set are what the caller's machines have in common, as their owners say. They
	// matter to what is pruned.
	Door, Set string
	// Range are the VMIDs for machines that don't say it; default: [model.DefaultRange]. It must
	// stay the same, since machines are found by it.
	Range model.Range
	// Allow is agreed to for all machines, on top of what each of them allows.
	Allow model.Allow
	// MaxUnavailable bounds how many of the caller's machines are restarted or replaced at
	// once; zero: nothing does.
	MaxUnavailable model.Limit

	// Options are for the engine: what is told as it happens, and who writes down VMIDs. Of
	// several callers, the first says how many objects are worked on at once (Parallel).
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

// Close ends the caller's part. Machines stay as they are. It returns when nothing is
// changed for this caller any more; tasks that were started go on in Proxmox.
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
	s.cluster.leave(session)
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

// Client is the cluster's client, for questions that the site has no words for. What is
// changed in Proxmox is changed by putting and removing.
func (s *Site) Client() *pve.Client { return s.cluster.client }

// Observer is what has looked at the cluster.
func (s *Site) Observer() *observe.Observer { return s.cluster.observer }

// Identity is what the cluster is known by: the fingerprint of its own root certificate.
// It is empty if nobody asked for it (see [Config].Identify), or Proxmox doesn't say.
func (s *Site) Identity() string { return s.cluster.observer.Identity() }

// Look has everything looked at now, since something may be otherwise than it seems.
func (s *Site) Look() {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		session.Look()
	}
}

// recheck has one object compared again with what there is: it was changed past its plan.
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

// Relogin goes on with other credentials. It reports false if that isn't possible, since
// others share the present ones: then open a new site, and close this one.
func (s *Site) Relogin(credentials pve.Credentials) (bool, error) {
	ok, err := s.cluster.relogin(credentials)
	if ok {
		s.Look()
	}
	return ok, err
}
