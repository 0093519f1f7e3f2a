package admission

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A pool admits the requests of one class.
//
// Node and storage slots are taken together or not at all, under one lock, so
// nobody holds one while waiting for the other and there is no deadlock.
type pool struct {
	now    func() time.Time
	bounds Bounds
	forget time.Duration

	mu     sync.Mutex
	gates  map[place]*gate // by a node alone or a storage alone
	lines  map[place]*line // by what a request needs; only lines in which somebody waits
	ticket uint64          // order of arrival
	swept  time.Time
	heads  []*line // scratch of schedule
}

// A place is a node, a storage, or a storage as used from a node.
type place struct{ node, storage string }

// A gate counts the slots of one node or storage.
type gate struct {
	at      place
	waiting int
	used    time.Time
	limit   limit

	// Of the pass of schedule under way: slots kept for older waiters, and
	// whether a waiter was already found blocked here.
	kept    int
	blocked bool
}

func (g *gate) room() bool { return g.limit.inUse+g.kept < g.limit.width }

// All requests that need the same wait in one line, of which only the first can
// be next.
type line struct {
	at      place
	gates   []*gate
	waiters list.List // of *waiter
}

func (l *line) head() *waiter { return l.waiters.Front().Value.(*waiter) }

type waiter struct {
	ticket uint64
	op     string
	slot   *slot         // set when admitted
	ready  chan struct{} // closed when admitted
}

func newPool(c Config, b Bounds) *pool {
	return &pool{
		now:    c.Now,
		bounds: b,
		forget: c.Forget,
		gates:  map[place]*gate{},
		lines:  map[place]*line{},
		swept:  c.Now(),
	}
}

func (p *pool) acquire(ctx context.Context, key Key) (func(Outcome), error) {
	if err := ctx.Err(); err != nil {
		return nil, waitError(key, err)
	}
	at := place{key.Node, key.Storage}

	p.mu.Lock()
	now := p.now()
	p.sweep(now)
	l, queued := p.lines[at]
	if !queued {
		gates := p.gatesOf(at, now)
		if len(p.lines) == 0 && free(gates) {
			s := p.take(gates, key.Op, now)
			p.mu.Unlock()
			return s.release, nil
		}
		l = &line{at: at, gates: gates}
		p.lines[at] = l
	}
	p.ticket++
	w := &waiter{ticket: p.ticket, op: key.Op, ready: make(chan struct{})}
	el := l.waiters.PushBack(w)
	for _, g := range l.gates {
		g.waiting++
	}
	if !queued {
		// Behind others of the same line there would be nothing to find: no
		// slot came free.
		p.schedule(now)
	}
	p.mu.Unlock()

	select {
	case <-w.ready:
		return w.slot.release, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.slot != nil {
		p.give(w.slot, Outcome{Failed: true})
	} else {
		p.leave(l, el)
		p.schedule(p.now()) // what was kept free for it is free for others now
	}
	return nil, waitError(key, ctx.Err())
}

func waitError(key Key, err error) error {
	what := "node " + key.Node
	if key.Node == "" {
		what = "the cluster"
	}
	if key.Storage != "" {
		what += ", storage " + key.Storage
	}
	return fmt.Errorf("wait for admission to %s: %w", what, err)
}

func (p *pool) gatesOf(at place, now time.Time) []*gate {
	node := p.gate(place{node: at.node}, now)
	if at.storage == "" {
		return []*gate{node}
	}
	return []*gate{node, p.gate(place{storage: at.storage}, now)}
}

func (p *pool) gate(at place, now time.Time) *gate {
	g := p.gates[at]
	if g == nil {
		g = &gate{at: at, limit: newLimit(p.bounds)}
		p.gates[at] = g
	}
	g.used = now
	return g
}

// free reports whether all gates have a slot, if nobody waits.
func free(gates []*gate) bool {
	for _, g := range gates {
		if g.limit.inUse >= g.limit.width {
			return false
		}
	}
	return true
}

func (l *line) room() bool {
	for _, g := range l.gates {
		if !g.room() {
			return false
		}
	}
	return true
}

// leave takes a waiter out of its line.
func (p *pool) leave(l *line, el *list.Element) {
	l.waiters.Remove(el)
	for _, g := range l.gates {
		g.waiting--
	}
	if l.waiters.Len() == 0 {
		delete(p.lines, l.at)
	}
}

// schedule admits all who can be, oldest first.
//
// A waiter is passed over while one of its gates is full, so that a storage that
// is slow doesn't hold up the others of its node. But the oldest that is blocked
// at a gate has a slot kept for it at its other gates. That alone is enough
// against starvation: nobody takes what the oldest of all needs, so it is next,
// and then another one is the oldest. And it costs little: however long the
// line, no more than one slot for each full gate is kept empty.
func (p *pool) schedule(now time.Time) {
	if len(p.lines) == 0 {
		return
	}
	heads := p.heads[:0]
	for _, l := range p.lines {
		heads = append(heads, l)
		for _, g := range l.gates {
			g.kept, g.blocked = 0, false
		}
	}
	slices.SortFunc(heads, byAge)
	p.heads = heads
	for len(heads) > 0 {
		l := heads[0]
		if l.room() {
			w := l.head()
			w.slot = p.take(l.gates, w.op, now)
			close(w.ready)
			p.leave(l, l.waiters.Front())
			if l.waiters.Len() > 0 {
				sink(heads)
				continue
			}
		} else {
			l.keep()
		}
		heads[0] = nil
		heads = heads[1:]
	}
}

// sink moves the first line back to where its new head belongs.
func sink(heads []*line) {
	for i := 1; i < len(heads) && byAge(heads[i-1], heads[i]) > 0; i++ {
		heads[i-1], heads[i] = heads[i], heads[i-1]
	}
}

func byAge(a, b *line) int { return cmp.Compare(a.head().ticket, b.head().ticket) }

// keep keeps slots for the head of the line where there are any, if it is the
// first to be blocked at one of its gates.
func (l *line) keep() {
	first := false
	for _, g := range l.gates {
		if !g.room() && !g.blocked {
			g.blocked, first = true, true
		}
	}
	if !first {
		return
	}
	for _, g := range l.gates {
		if g.room() {
			g.kept++
		}
	}
}

// A slot is what an admitted request holds: a place at each of its gates.
type slot struct {
	pool    *pool
	op      string
	since   time.Time
	gates   []*gate
	marks   [2]mark
	settled bool
}

func (p *pool) take(gates []*gate, op string, now time.Time) *slot {
	s := &slot{pool: p, op: op, since: now, gates: gates}
	for i, g := range gates {
		s.marks[i] = g.limit.take(op)
	}
	return s
}

func (s *slot) release(o Outcome) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.pool.give(s, o)
}

// give takes the slot back and learns from what became of the request. Success
// speaks for all gates; trouble speaks against the storage if there is one,
// since other work on the same node need not suffer from a slow storage.
func (p *pool) give(s *slot, o Outcome) {
	if s.settled {
		return
	}
	s.settled = true
	now := p.now()
	for i, g := range s.gates {
		g.limit.give(s.marks[i])
		g.used = now
		last := i == len(s.gates)-1
		switch {
		case o.LockTimeout && last:
			g.limit.timedOut(s.marks[i])
		case o.LockTimeout || o.Failed:
		case last:
			g.limit.succeeded(s.marks[i], s.op, now.Sub(s.since))
		default:
			g.limit.passed(s.marks[i])
		}
	}
	p.schedule(now)
}

// sweep forgets gates that were not used for long.
func (p *pool) sweep(now time.Time) {
	if now.Sub(p.swept) < p.forget/4 {
		return
	}
	p.swept = now
	for at, g := range p.gates {
		if g.limit.inUse == 0 && g.waiting == 0 && now.Sub(g.used) >= p.forget {
			delete(p.gates, at)
		}
	}
}

func (p *pool) snapshot(class Class, all []Usage) []Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep(p.now())
	for _, g := range p.gates {
		all = append(all, Usage{
			Class:   class,
			Node:    g.at.node,
			Storage: g.at.storage,
			Limit:   g.limit.width,
			InUse:   g.limit.inUse,
			Waiting: g.waiting,
		})
	}
	return all
}
