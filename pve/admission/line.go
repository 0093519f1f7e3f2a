package admission

import (
	"cmp"
	"container/list"
	"slices"
	"time"
)

// All requests that need the same wait in one line, of which only the first can
// be next. Those of another rank have a line of their own.
type line struct {
	at      lineKey
	gates   []*gate
	waiters list.List // of *waiter
}

type lineKey struct {
	place
	rank rank
}

// rank is whose turn comes before whose, however long they wait.
type rank int

const (
	first rank = iota
	usual
	later
)

func (l *line) head() *waiter { return l.waiters.Front().Value.(*waiter) }

type waiter struct {
	ticket uint64
	op     string
	slot   *Slot         // set when admitted
	ready  chan struct{} // closed when admitted
}

func (l *line) room() bool {
	for _, g := range l.gates {
		if !g.room() {
			return false
		}
	}
	return true
}

// heldBack reports whether it isn't the turn of what comes later, though there may be
// room.
func (l *line) heldBack() bool {
	if l.at.rank != later {
		return false
	}
	for _, g := range l.gates {
		if g.firsts > 0 && g.at.storage != "" && g.limit.crowded {
			return true
		}
	}
	return false
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

// schedule admits all who can be by their rank, and of the same rank the oldest
// first. Whoever is of an earlier rank counts as older.
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
		switch {
		case l.heldBack():
		case l.room():
			w := l.head()
			w.slot = p.take(l.gates, w.op, l.at.rank, now)
			close(w.ready)
			p.leave(l, l.waiters.Front())
			if l.waiters.Len() > 0 {
				sink(heads)
				continue
			}
		default:
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

func byAge(a, b *line) int {
	return cmp.Or(cmp.Compare(a.at.rank, b.at.rank), cmp.Compare(a.head().ticket, b.head().ticket))
}

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
