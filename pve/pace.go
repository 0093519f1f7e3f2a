package pve

import (
	"sync"
	"time"
)

// pace is how long tasks of each type take. Most tasks take about as long as the ones before them, so a task is first
// looked at when it is likely to have ended.
//
// What several tasks show at one instant counts as one observation, the shortest, and counts from the next instant on: the
// order in which their nodes answer makes no difference.
type pace struct {
	mu    sync.Mutex
	types map[string]*typePace
}

type typePace struct {
	usual time.Duration // 0: not known
	seen  time.Duration // the shortest that was seen at an instant, not yet part of usual; 0: nothing
	at    time.Time     // that instant
	// nodes are those that had tasks of the type before it was known how long they take, and since when.
	nodes map[string]time.Time
}

const (
	// mostPatient bounds how late the first look at a task is, so that one that is much quicker than those before it isn't
	// noticed much later than it ended.
	mostPatient = 2500 * time.Millisecond
	// leastPace leaves tasks alone that end at once.
	leastPace = 50 * time.Millisecond
	// mostSharing bounds how many nodes take turns with looks.
	mostSharing = 5
)

// of is what is known of a type. The caller holds the lock.
func (p *pace) of(kind string) *typePace {
	if p.types == nil {
		p.types = map[string]*typePace{}
	}
	t := p.types[kind]
	if t == nil {
		t = &typePace{nodes: map[string]time.Time{}}
		p.types[kind] = t
	}
	return t
}

// begun notes that a node has a task of a type.
func (p *pace) begun(kind, node string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.of(kind); t.usual == 0 && t.nodes[node].IsZero() {
		t.nodes[node] = now
	}
}

// turn is when a node's turn comes after a time, as long as it isn't known how long tasks of a type take: nodes that have
// some take turns, since the first end that is seen on one of them says when to look at the others. With more of them, each
// is looked at less often, and the first end is noticed sooner.
func (p *pace) turn(kind, node string, last, now time.Time, quick time.Duration) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	place, all := 0, 1
	for name, since := range p.of(kind).nodes {
		if name == node || !since.Before(now) { // others count from the next instant on
			continue
		}
		if all++; name < node {
			place++
		}
	}
	if all == 1 {
		return last
	}
	all = min(all, mostSharing)
	slot := quick / 2
	round := time.Duration(all) * slot
	due := last.Truncate(round).Add(time.Duration(place%all) * slot)
	for !due.After(last) {
		due = due.Add(round)
	}
	return due
}

// usual is how long tasks of a type take, by what was seen before now; 0: that isn't known.
func (p *pace) usual(kind string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.of(kind)
	t.settle(now)
	if t.usual == 0 {
		return t.seen // the first one; whoever asked before is woken
	}
	return t.usual
}

// ended notes that a task was seen to have ended at an age. If it wasn't seen running just before, it may have ended
// any time earlier. It reports whether it is the first to tell how long such tasks take.
func (p *pace) ended(kind string, now time.Time, age time.Duration, seenRunning bool) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.of(kind)
	t.settle(now)
	if !seenRunning {
		age = age * 255 / 256
	}
	age = max(age, leastPace)
	if t.seen == 0 || age < t.seen {
		t.seen, t.at = age, now
		return t.usual == 0
	}
	return false
}

// settle takes over what was seen before now. A slow task doesn't say that the next ones are slow, too.
func (t *typePace) settle(now time.Time) {
	if t.seen == 0 || !now.After(t.at) {
		return
	}
	if t.usual == 0 {
		t.usual = t.seen
	} else {
		t.usual = min(t.seen, t.usual+t.usual/4)
	}
	t.seen = 0
}

// nextLook is when a task is worth the next look, if its node was last looked at then.
func (p *pace) nextLook(task UPID, since, last, now time.Time, quick, slow time.Duration) time.Time {
	usual := p.usual(task.Type, now)
	first := since.Add(max(shortest[task.Type], min(usual, mostPatient)))
	age := now.Sub(since)
	switch next := last.Add(pollDelay(age, quick, slow)); {
	case first.After(last):
		return first
	case last.Sub(since) < usual:
		// Its end is expected later, and it may come sooner.
		seldom := last.Add(min(max(age/4, quick), slow))
		if expected := since.Add(usual); expected.Before(seldom) {
			return expected
		}
		return seldom
	case usual == 0:
		if turn := p.turn(task.Type, task.Node, last, now, quick); turn.After(next) {
			return turn
		}
		return next
	default:
		return next
	}
}
