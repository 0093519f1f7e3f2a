package operator

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// providers are all managed Providers. They run while this replica is the leader.
type providers struct {
	deps *deps

	mu      sync.Mutex
	ctx     context.Context // nil: not yet, or no more
	all     map[model.Key]*provider
	leaving map[model.Key]*provider // they are to end, and have calls under way
	read    map[string]bool         // namespaces whose Providers know what they are to do
}

func newProviders(d *deps) *providers {
	return &providers{deps: d, all: map[model.Key]*provider{}, leaving: map[model.Key]*provider{}, read: map[string]bool{}}
}

// Start runs providers until ctx ends, and waits for the end of all.
func (p *providers) Start(ctx context.Context) error {
	p.mu.Lock()
	p.ctx = ctx
	p.mu.Unlock()
	p.deps.log.Info("this replica works now")
	<-ctx.Done()
	p.mu.Lock()
	p.ctx = nil
	all := slices.Concat(slices.Collect(maps.Values(p.all)), slices.Collect(maps.Values(p.leaving)))
	p.all = map[model.Key]*provider{}
	p.mu.Unlock()
	for _, one := range all {
		one.cancel()
	}
	for _, one := range all {
		<-one.ended
	}
	return nil
}

// NeedLeaderElection reports true to the manager: followers change nothing.
func (*providers) NeedLeaderElection() bool { return true }

// assign says what each Provider of a namespace is to do; those that aren't named
// are no more. False: it is too early.
func (p *providers) assign(namespace string, all map[model.Key]assignment) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		return false
	}
	for key, one := range p.all {
		if _, there := all[key]; !there && key.Namespace == namespace {
			p.dismiss(key, one)
		}
	}
	for key, a := range all {
		one := p.all[key]
		if one == nil {
			one = startProvider(p.ctx, key, p.deps, p.leaving[key])
			p.all[key] = one
		}
		one.assign(a)
	}
	p.read[namespace] = true
	return true
}

// knows reports whether the Providers of a namespace know what they are to do.
func (p *providers) knows(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read[namespace]
}

// dismiss lets a provider end. Nobody waits for it but a new one of the same name: a
// Proxmox that doesn't answer may take its time.
func (p *providers) dismiss(key model.Key, one *provider) {
	delete(p.all, key)
	p.leaving[key] = one
	one.cancel()
	go func() {
		<-one.ended
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.leaving[key] == one {
			delete(p.leaving, key)
		}
	}()
}

// list are all providers.
func (p *providers) list() []*provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.all))
}

// touch reports whether any provider may still change something in Proxmox for the object
// that is known by an identity.
func (p *providers) touch(identity string) bool {
	p.mu.Lock()
	all := slices.Concat(slices.Collect(maps.Values(p.all)), slices.Collect(maps.Values(p.leaving)))
	p.mu.Unlock()
	return slices.ContainsFunc(all, func(one *provider) bool { return one.touches(identity) })
}

// trouble is why one of some Providers can't be asked; nil: all can.
func (p *providers) trouble(providers []model.Key) *plan.Wait {
	for _, key := range providers {
		one := p.of(key)
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

// of returns the manager of a Provider; nil: there is none.
func (p *providers) of(key model.Key) *provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[key]
}
