package operator

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// sites are all Providers that are looked after. They run while this replica is the
// leader.
type sites struct {
	deps *deps

	mu      sync.Mutex
	ctx     context.Context // nil: not yet, or no more
	all     map[model.Key]*provider
	leaving map[model.Key]*provider // they are to end, and have calls under way
	read    map[string]bool         // namespaces whose Providers know what they are to do
}

func newSites(d *deps) *sites {
	return &sites{deps: d, all: map[model.Key]*provider{}, leaving: map[model.Key]*provider{}, read: map[string]bool{}}
}

// Start lets sites run until ctx ends, and waits for the end of all.
func (s *sites) Start(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.deps.log.Info("this replica works now")
	<-ctx.Done()
	s.mu.Lock()
	s.ctx = nil
	all := slices.Concat(slices.Collect(maps.Values(s.all)), slices.Collect(maps.Values(s.leaving)))
	s.all = map[model.Key]*provider{}
	s.mu.Unlock()
	for _, one := range all {
		one.cancel()
	}
	for _, one := range all {
		<-one.ended
	}
	return nil
}

// NeedLeaderElection is for the manager: followers touch nothing.
func (*sites) NeedLeaderElection() bool { return true }

// assign says what each Provider of a namespace is to do; those that aren't named
// are no more. False: it is too early.
func (s *sites) assign(namespace string, all map[model.Key]assignment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		return false
	}
	for key, one := range s.all {
		if _, there := all[key]; !there && key.Namespace == namespace {
			s.dismiss(key, one)
		}
	}
	for key, a := range all {
		one := s.all[key]
		if one == nil {
			one = startSite(s.ctx, key, s.deps, s.leaving[key])
			s.all[key] = one
		}
		one.assign(a)
	}
	s.read[namespace] = true
	return true
}

// knows reports whether the Providers of a namespace know what they are to do.
func (s *sites) knows(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read[namespace]
}

// dismiss lets a site end. Nobody waits for it but a new one of the same name: a
// Proxmox that doesn't answer may take its time.
func (s *sites) dismiss(key model.Key, one *provider) {
	delete(s.all, key)
	s.leaving[key] = one
	one.cancel()
	go func() {
		<-one.ended
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leaving[key] == one {
			delete(s.leaving, key)
		}
	}()
}

// list are all sites.
func (s *sites) list() []*provider {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.all))
}

// touch reports whether any site may still change something in Proxmox for the object
// that is known by an identity.
func (s *sites) touch(identity string) bool {
	s.mu.Lock()
	all := slices.Concat(slices.Collect(maps.Values(s.all)), slices.Collect(maps.Values(s.leaving)))
	s.mu.Unlock()
	return slices.ContainsFunc(all, func(one *provider) bool { return one.touches(identity) })
}

// trouble is why one of some Providers can't be asked; nil: all can.
func (s *sites) trouble(providers []model.Key) *plan.Wait {
	for _, key := range providers {
		one := s.of(key)
		if one == nil {
			continue
		}
		one.mu.Lock()
		w := one.trouble
		one.mu.Unlock()
		if w != nil {
			return w
		}
	}
	return nil
}

// of is the site of a Provider; nil: there is none.
func (s *sites) of(key model.Key) *provider {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[key]
}
