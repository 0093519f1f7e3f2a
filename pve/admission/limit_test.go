package admission

import (
	"testing"
	"time"
)

func takeAll(l *limit, n int) []mark {
	var ms []mark
	for range n {
		ms = append(ms, l.take("clone"))
	}
	return ms
}

func TestABurstOfLockTimeoutsHalvesTheWidthOnce(t *testing.T) {
	l := newLimit(Bounds{Start: 32, Max: 64})
	for _, m := range takeAll(&l, 32) {
		l.give(m)
		l.timedOut(m)
	}
	if l.width != 16 {
		t.Errorf("width %d after 32 of 32 timed out, want 16", l.width)
	}
}

func TestABurstOfLockTimeoutsLeavesWhatIsServed(t *testing.T) {
	l := newLimit(Bounds{Start: 32, Max: 64})
	for _, m := range takeAll(&l, 32)[5:] {
		l.give(m)
		l.timedOut(m)
	}
	if l.width != 5 {
		t.Errorf("width %d after 27 of 32 timed out, want the 5 that are under way", l.width)
	}
}

func TestALimitThatIsNotReachedDoesNotGrow(t *testing.T) {
	l := newLimit(Bounds{Start: 8, Max: 64})
	for range 1000 {
		for _, m := range takeAll(&l, 7) {
			l.give(m)
			l.succeeded(m, "clone", time.Second)
		}
	}
	if l.width != 8 {
		t.Errorf("width %d, want 8: nothing is known about more", l.width)
	}
}

func TestLongWorkOfAnotherKindIsNotTakenForSlowness(t *testing.T) {
	l := newLimit(Bounds{Start: 8, Max: 8})
	for i := range 1000 {
		op, took := "config", 50*time.Millisecond
		if i > 500 {
			op, took = "clone", time.Hour
		}
		m := l.take(op)
		l.give(m)
		l.succeeded(m, op, took)
	}
	if l.width != 8 {
		t.Errorf("width %d, want 8", l.width)
	}
}
