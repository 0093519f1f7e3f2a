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
}

const (
	// mostPatient bounds how late the first look at a task is, so that one that is much quicker than those before it isn't
	// noticed much later than it ended.
	mostPatient = 2500 * time.Millisecond
	// leastPace leaves tasks alone that end at once.
	leastPace = 50 * time.Millisecond
)

// usual is how long tasks of a type take, by what was seen before now; 0: that isn't known.
func (p *pace) usual(kind string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.types[kind]; t != nil {
		t.settle(now)
		return t.usual
	}
	return 0
}

// ended notes that a task was seen to have ended at an age. If it wasn't seen running just before, it may have ended
// any time earlier.
func (p *pace) ended(kind string, now time.Time, age time.Duration, seenRunning bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.types == nil {
		p.types = map[string]*typePace{}
	}
	t := p.types[kind]
	if t == nil {
		t = &typePace{}
		p.types[kind] = t
	}
	t.settle(now)
	if !seenRunning {
		age = age * 255 / 256
	}
	age = max(age, leastPace)
	if t.seen == 0 || age < t.seen {
		t.seen, t.at = age, now
	}
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
	default:
		return next
	}
}
