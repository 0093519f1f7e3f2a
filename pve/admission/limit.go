package admission

import "time"

const (
	// The width is tried again where it failed before after this many full
	// rounds at most. More would mean fewer lock timeouts (one in 16 rounds
	// now) and a slower recovery.
	maxBackoff = 16

	// Durations are judged by the fastest of this many or of half a round,
	// whichever is more, so that some slow ones among them mean nothing.
	paceWindow = 8

	// Differences below this are noise: of the network, of the workers, of how
	// often tasks are looked at.
	paceSlack = time.Second

	// After this many rounds at the width that was found it is searched again.
	searchAgain = 4

	// Ops are a few fixed words. A caller that doesn't keep to that gets no
	// judgement by duration, rather than all our memory.
	maxOps = 64
)

// A limit is the number of slots of one gate and what was learnt about it.
//
// It narrows at once on a lock timeout and when work gets slow, and widens by
// steps while all goes well at full use: a step of one, then two, four and so on,
// so that a trouble that is over is soon forgotten. The width that failed last is
// approached with care and tried again only after a number of good rounds, which
// doubles each time it fails again.
//
// Before that there is a search: the width grows by factors each time somebody
// sees that as many as that don't hinder each other. When somebody sees that they
// do, it stays until it is searched again.
//
// It has no clock and no lock: all it knows comes in by its methods.
type limit struct {
	width int
	max   int

	searching bool
	enough    bool // the search has ended because work had to wait
	crowded   bool // work had to wait, or failed, when last somebody knew

	bad     int // the width that failed last; 0 if none, or passed since
	backoff int // rounds before bad is tried again
	step    int // what the next widening adds
	good    int // successes at full use since the width last changed

	inUse    int // slots taken
	cuts     int // times the width was cut, to tell one burst of trouble from the next
	old      int // slots still in use of those taken before the last cut
	changes  int // times the width changed
	done     int // successes ever
	fallback int // the width after a burst of timeouts in which nothing was served

	paces map[string]*pace
}

func newLimit(b Bounds) limit {
	return limit{width: b.Start, max: b.Max, searching: true, backoff: 1, step: b.Start} // the first step doubles it
}

// A mark is what the limit looked like when a slot was taken.
type mark struct {
	inUse                       int // with the slot itself
	full                        bool
	cuts, changes, done, window int
}

// take takes a slot for work of kind op.
func (l *limit) take(op string) mark {
	l.inUse++
	m := mark{inUse: l.inUse, full: l.inUse >= l.width, cuts: l.cuts, changes: l.changes, done: l.done}
	if p := l.pace(op); p != nil {
		m.window = p.window
	}
	return m
}

// give gives the slot back. What became of the work is told afterwards.
func (l *limit) give(m mark) {
	l.inUse--
	if m.cuts != l.cuts {
		l.old--
	}
}

// unhindered learns that so many at once can be tried: a fraction of them doesn't
// hinder each other.
func (l *limit) unhindered(next int) {
	if l.searching && next > l.width {
		l.set(next)
	}
}

// found learns that work has to wait: more at once is no use. It is searched again
// after some rounds.
func (l *limit) found() {
	l.crowded = true
	if l.searching {
		l.searching, l.enough, l.good = false, true, 0
	}
}

// eased learns that work doesn't have to wait.
func (l *limit) eased() { l.crowded = false }

// searches reports whether it makes sense to look at the work under way.
func (l *limit) searches() bool { return l.searching && l.width < l.max }

// timedOut learns that work failed waiting for a lock.
//
// All slots that were taken before the width was cut belong to the same burst:
// the first of them cuts the width by a fifth, the others cut it no further than
// to what was evidently served meanwhile. Those are the ones of the burst still
// under way (the rest of it will take itself off), and those that finished in the
// time it took this one to give up, by half, so that nobody waits near as long.
func (l *limit) timedOut(m mark) {
	if m.cuts == l.cuts {
		from := min(l.width, max(m.inUse, l.inUse+1))
		l.cut(from, from*4/5)
		l.fallback = max(from/2, 1)
	}
	if served := l.old + (l.done-m.done)/2; served > 0 {
		l.set(min(l.width, served))
	} else {
		l.set(l.fallback)
	}
}

// succeeded learns that a request succeeded and how long it took.
func (l *limit) succeeded(m mark, op string, took time.Duration) {
	p := l.pace(op)
	fast := p == nil || p.fast(took)
	if p != nil && p.add(m, took) && m.cuts == l.cuts {
		l.done++
		from := min(l.width, m.inUse)
		l.cut(from, from*3/4)
		return
	}
	if fast {
		l.passed(m)
	} else {
		l.done++
	}
}

// passed learns that a request succeeded.
func (l *limit) passed(m mark) {
	l.done++
	if m.full && m.changes == l.changes {
		l.good++
		l.grow()
	}
}

// cut narrows the width after trouble with from slots in use.
func (l *limit) cut(from, to int) {
	// Trouble with a single slot in use isn't a matter of width.
	if from > 1 && l.bad > 0 && from >= l.bad-1 {
		l.backoff = min(2*l.backoff, maxBackoff)
	}
	l.bad = max(from, 2)
	l.step, l.searching, l.enough, l.crowded = 1, false, false, true
	l.cuts++
	l.old = l.inUse
	l.set(to)
}

// grow widens after enough good rounds, each of as many successes as there are
// slots.
func (l *limit) grow() {
	need := l.width
	if l.enough {
		if l.good >= searchAgain*need {
			l.searching, l.enough, l.good = true, false, 0
		}
		return
	}
	if l.width == l.bad-1 {
		need *= l.backoff
	}
	if l.good < need {
		return
	}
	if l.width >= l.bad { // what failed before does well now
		l.bad, l.backoff = 0, 1
		l.eased()
	}
	next := l.width + l.step
	l.step = min(2*l.step, l.width)
	if l.bad > 0 && next >= l.bad {
		next = l.width + max(1, (l.bad-l.width)/2)
		l.step = 1
	}
	l.set(next)
}

func (l *limit) set(width int) {
	width = min(max(width, 1), l.max)
	if width != l.width {
		l.width = width
		l.changes++
	}
	l.good = 0
}

// pace returns the pace of op, or nil if too many are known.
func (l *limit) pace(op string) *pace {
	p := l.paces[op]
	if p == nil && len(l.paces) < maxOps {
		if l.paces == nil {
			l.paces = map[string]*pace{}
		}
		p = &pace{}
		l.paces[op] = p
	}
	return p
}

// A pace is how long one kind of work takes: at its best lately, and now.
//
// The two are the same figure, the shortest of a window, at different times. A
// window holds only work that began after the window did, so that it is one
// round trip; else in a burst of unequal work, where the short come out first,
// later windows would look slow.
type pace struct {
	base   time.Duration
	min    time.Duration // of this window
	n      int
	window int
}

// fast reports whether work of this duration shows no sign of waiting.
func (p *pace) fast(took time.Duration) bool {
	return p.base == 0 || took <= p.base*3/2+paceSlack/2
}

// add takes a duration into the window and reports whether the window is full
// with it and slow.
func (p *pace) add(m mark, took time.Duration) (slow bool) {
	if m.window != p.window {
		return false
	}
	if p.n == 0 || took < p.min {
		p.min = took
	}
	p.n++
	if p.n < max(paceWindow, m.inUse/2) {
		return false
	}
	slow = p.base > 0 && p.min > 2*p.base+paceSlack
	switch {
	case p.base == 0:
		p.base = p.min
	case p.min < p.base:
		p.base -= (p.base - p.min) / 2
	default:
		// Slower work with few at once is a change for good, which the base
		// follows; with many at once it is rather their doing.
		p.base += (p.min - p.base) / time.Duration(2*m.inUse*m.inUse)
	}
	p.window++
	p.n = 0
	return slow
}
