package site

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// watcher receives changed outcomes. A slow one receives the newest outcome of each object, and blocks nobody.
type watcher struct {
	site  *Site
	fresh map[model.Owner]Outcome
	order []model.Owner
	news  chan struct{} // has something when there is something new, or the site is closed
}

func (s *Site) subscribe() *watcher {
	w := &watcher{site: s, fresh: map[model.Owner]Outcome{}, news: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[w] = true
	return w
}

func (s *Site) unsubscribe(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// take returns the outcomes that have changed since the last call, in their order.
func (w *watcher) take() []Outcome {
	w.site.mu.Lock()
	defer w.site.mu.Unlock()
	list := make([]Outcome, len(w.order))
	for i, owner := range w.order {
		list[i] = w.fresh[owner]
	}
	w.order = nil
	clear(w.fresh)
	return list
}

// tell passes an outcome to all watchers. The caller holds the lock.
func (s *Site) tell(o Outcome) {
	for w := range s.watchers {
		if _, known := w.fresh[o.Owner]; !known {
			w.order = append(w.order, o.Owner)
		}
		w.fresh[o.Owner] = o
	}
	s.wake()
}

// wake wakes all waiting callers. The caller holds the lock.
func (s *Site) wake() {
	for w := range s.watchers {
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
}

// Watch yields the outcome of each object of this caller, and then each change, until ctx
// ends or the site is closed. A slow watcher gets only the newest outcome of each object.
func (s *Site) Watch(ctx context.Context) iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		w := s.subscribe()
		defer s.unsubscribe(w)
		s.mu.Lock()
		first := slices.SortedFunc(maps.Values(s.latest), func(a, b Outcome) int { return model.CompareNames(a.Owner.Key.String(), b.Owner.Key.String()) })
		s.mu.Unlock()
		for next := first; ; next = w.take() {
			for _, o := range next {
				if !yield(o) {
					return
				}
			}
			s.mu.Lock()
			closed := s.closed
			s.mu.Unlock()
			if closed {
				return
			}
			select {
			case <-w.news:
			case <-ctx.Done():
				return
			}
		}
	}
}
