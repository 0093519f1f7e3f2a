package operator

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/model"
)

// sites are all Providers that are looked after. They run while this replica is the
// leader.
type sites struct {
	deps *deps

	mu  sync.Mutex
	ctx context.Context // nil: not yet, or no more
	all map[model.Key]*site
}

func newSites(d *deps) *sites { return &sites{deps: d, all: map[model.Key]*site{}} }

// Start lets sites run until ctx ends, and waits for the end of all.
func (s *sites) Start(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.deps.log.Info("this replica works now")
	<-ctx.Done()
	s.mu.Lock()
	s.ctx = nil
	all := s.all
	s.all = map[model.Key]*site{}
	s.mu.Unlock()
	var ended sync.WaitGroup
	for _, one := range all {
		ended.Go(one.stop)
	}
	ended.Wait()
	return nil
}

// NeedLeaderElection is for the manager: followers touch nothing.
func (*sites) NeedLeaderElection() bool { return true }

// assign says what each Provider of a namespace is to do; those that aren't named
// are no more. False: it is too early.
func (s *sites) assign(namespace string, all map[model.Key]assignment) bool {
	s.mu.Lock()
	if s.ctx == nil {
		s.mu.Unlock()
		return false
	}
	var gone []*site
	for key, one := range s.all {
		if _, there := all[key]; !there && key.Namespace == namespace {
			gone = append(gone, one)
			delete(s.all, key)
		}
	}
	for key, a := range all {
		one := s.all[key]
		if one == nil {
			one = startSite(s.ctx, key, s.deps)
			s.all[key] = one
		}
		one.assign(a)
	}
	s.mu.Unlock()
	for _, one := range gone {
		one.stop()
	}
	return true
}

// list are all sites.
func (s *sites) list() []*site {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.all))
}

// of is the site of a Provider; nil: there is none.
func (s *sites) of(key model.Key) *site {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[key]
}
