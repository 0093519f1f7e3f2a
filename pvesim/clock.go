package pvesim

import (
	"sync"
	"time"
)

// Clock is where the simulator gets its time from.
type Clock interface {
	Now() time.Time
	// After returns a channel that gets a value once d has passed, and a
	// function that gives the timer up.
	After(d time.Duration) (c <-chan time.Time, stop func())
}

// realClock is the time package. Under testing/synctest it is virtual.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// AheadClock is by how much a clock is ahead of the real one; negative: it is behind.
type AheadClock time.Duration

// Now returns the time by that clock.
func (c AheadClock) Now() time.Time { return realClock{}.Now().Add(time.Duration(c)) }

// After returns time.After(d).
func (c AheadClock) After(d time.Duration) (<-chan time.Time, func()) { return realClock{}.After(d) }

// fastClock runs speed times as fast as the real one, from start on.
type fastClock struct {
	start time.Time
	speed float64
}

// NewFastClock returns a clock that runs speed times as fast as real time.
func NewFastClock(speed float64) Clock {
	if speed <= 0 || speed == 1 {
		return realClock{}
	}
	return &fastClock{start: time.Now(), speed: speed}
}

func (c *fastClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

func (c *fastClock) After(d time.Duration) (<-chan time.Time, func()) {
	return realClock{}.After(time.Duration(float64(d) / c.speed))
}

// shiftClock is a clock that can be put forward: everything that would have
// happened in the skipped time happens at once. It is what /sim/clock moves.
type shiftClock struct {
	base Clock

	mu     sync.Mutex
	offset time.Duration
	timers map[*shiftTimer]struct{}
}

type shiftTimer struct {
	due  time.Time
	c    chan time.Time
	stop func()
}

func newShiftClock(base Clock) *shiftClock {
	return &shiftClock{base: base, timers: map[*shiftTimer]struct{}{}}
}

func (c *shiftClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Now().Add(c.offset)
}

func (c *shiftClock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.base.Now().Add(c.offset)
	t := &shiftTimer{due: now.Add(d), c: make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- now
		return t.c, func() {}
	}
	c.timers[t] = struct{}{}
	c.arm(t, d)
	return t.c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.drop(t)
	}
}

// arm waits for the base clock in a goroutine that ends with the timer.
func (c *shiftClock) arm(t *shiftTimer, d time.Duration) {
	fired, stopBase := c.base.After(d)
	done := make(chan struct{})
	t.stop = func() { stopBase(); close(done) }
	go func() {
		select {
		case <-fired:
			c.mu.Lock()
			defer c.mu.Unlock()
			if _, ok := c.timers[t]; ok {
				delete(c.timers, t)
				t.c <- c.base.Now().Add(c.offset)
			}
		case <-done:
		}
	}()
}

func (c *shiftClock) drop(t *shiftTimer) {
	if _, ok := c.timers[t]; ok {
		delete(c.timers, t)
		t.stop()
	}
}

// advance puts the clock forward by d.
func (c *shiftClock) advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
	now := c.base.Now().Add(c.offset)
	for t := range c.timers {
		t.stop()
		if left := t.due.Sub(now); left > 0 {
			c.arm(t, left)
			continue
		}
		delete(c.timers, t)
		t.c <- now
	}
	return now
}
