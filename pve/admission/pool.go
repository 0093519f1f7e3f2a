package admission

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A pool admits the requests of one class.
//
// Node and storage slots are taken together or not at all, under one lock, so
// nobody holds one while waiting for the other and there is no deadlock.
type pool struct {
	now     func() time.Time
	node    Bounds
	storage Bounds
	forget  time.Duration

	mu     sync.Mutex
	gates  map[place]*gate   // by a node alone or a storage alone
	lines  map[lineKey]*line // only lines in which somebody waits
	ticket uint64            // order of arrival
	swept  time.Time
	heads  []*line // scratch of schedule
}

// A place is a node, a storage, or a storage as used from a node.
type place struct{ node, storage string }

// A gate counts the slots of one node or storage.
type gate struct {
	at      place
	waiting int
	firsts  int // slots in use by work that goes first
	used    time.Time
	limit   limit

	// Of the pass of schedule under way: slots kept for older waiters, and
	// whether a waiter was already found blocked here.
	kept    int
	blocked bool
}

func (g *gate) room() bool { return g.limit.inUse+g.kept < g.limit.width }

func newPool(c Config, node, storage Bounds) *pool {
	return &pool{
		now:     c.Now,
		node:    node,
		storage: storage,
		forget:  c.Forget,
		gates:   map[place]*gate{},
		lines:   map[lineKey]*line{},
		swept:   c.Now(),
	}
}

func (p *pool) acquire(ctx context.Context, key Key) (*Slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, waitError(key, err)
	}
	at := lineKey{place{key.Node, key.Storage}, key.rank()}

	p.mu.Lock()
	now := p.now()
	p.sweep(now)
	l, queued := p.lines[at]
	if !queued {
		gates := p.gatesOf(at.place, now)
		l = &line{at: at, gates: gates}
		if len(p.lines) == 0 && free(gates) && !l.heldBack() {
			s := p.take(gates, key.Op, at.rank, now)
			p.mu.Unlock()
			return s, nil
		}
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
		return w.slot, nil
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
		bounds := p.node
		if at.storage != "" {
			bounds = p.storage
		}
		g = &gate{at: at, limit: newLimit(bounds)}
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

// A Slot is what an admitted request holds: a place at its node and its storage.
type Slot struct {
	pool    *pool
	op      string
	rank    rank
	since   time.Time
	gates   []*gate
	marks   [2]mark
	settled bool
}

func (p *pool) take(gates []*gate, op string, r rank, now time.Time) *Slot {
	s := &Slot{pool: p, op: op, rank: r, since: now, gates: gates}
	for i, g := range gates {
		s.marks[i] = g.limit.take(op)
		if r == first {
			g.firsts++
		}
	}
	return s
}

// Release returns the slot, with the outcome of the request.
func (s *Slot) Release(o Outcome) {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.pool.give(s, o)
}

// easyWait is a wait for a storage's lock that may be twice as long without harm:
// Proxmox gives up after ten seconds.
const easyWait = 2500 * time.Millisecond

// Sight is what was seen of work under way.
type Sight struct {
	// Among is how much work the storage has under way, with this one.
	Among int

	// Waited is how long it has waited for the lock of the storage so far.
	Waited time.Duration

	// Through says that it has the lock, or has had it.
	Through bool
}

// Saw adjusts the limit by what was seen of the work. What doesn't have to wait lets many more in,
// what doesn't wait for long some more. Work doesn't come to the lock in the order
// in which it was begun, so a claim that it doesn't wait must be based on
// several of them.
func (s *Slot) Saw(v Sight) {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.settled || len(s.gates) < 2 {
		return
	}
	node, storage := &s.gates[0].limit, &s.gates[1].limit
	factor := 4
	switch {
	case v.Waited > easyWait:
		storage.found()
		return
	case !v.Through || s.marks[1].cuts != storage.cuts:
		return
	case v.Waited > 0:
		factor = 2
	default:
		storage.eased()
	}
	storage.unhindered(factor * v.Among)
	if s.marks[0].cuts == node.cuts && node.inUse >= node.width {
		node.unhindered(factor * node.width)
	}
	p.schedule(p.now())
}

func (p *pool) searching(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.gates[place{storage: key.Storage}]
	return key.Storage != "" && g != nil && g.limit.searches() && g.waiting > 0
}

// give takes the slot back and learns from what became of the request. Success
// speaks for all gates; trouble speaks against the storage if there is one,
// since other work on the same node need not suffer from a slow storage.
func (p *pool) give(s *Slot, o Outcome) {
	if s.settled {
		return
	}
	s.settled = true
	now := p.now()
	for i, g := range s.gates {
		g.limit.give(s.marks[i])
		if s.rank == first {
			g.firsts--
		}
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
			Crowded: g.limit.crowded,
		})
	}
	return all
}
