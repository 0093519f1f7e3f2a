package pve

import (
	"testing"
	"time"
)

func TestNodesThatAreAwayAreAskedNowAndThenOnly(t *testing.T) {
	clock := &steppedClock{now: time.Unix(1_800_000_000, 0)}
	a := newAbsence(clock)
	read := &request{method: "GET", path: "/nodes/pve2/qemu/100/config"}
	asked := 0
	ask := func(status int) {
		if a.refuse(read) == nil {
			asked++
			a.saw(read, status)
		}
	}
	for range 100 {
		ask(statusNoRoute)
	}
	if asked != awayAfter {
		t.Errorf("asked %d times at once", asked)
	}
	for range 60 {
		clock.now = clock.now.Add(time.Second)
		ask(statusNoRoute)
	}
	if asked < awayAfter+4 || asked > awayAfter+10 {
		t.Errorf("asked %d times within a minute", asked)
	}
	if err := a.refuse(&request{method: "PUT", path: read.path}); err != nil {
		t.Errorf("a write: %v", err)
	}
	if err := a.refuse(&request{method: "GET", path: "/nodes/pve1/status"}); err != nil {
		t.Errorf("another node: %v", err)
	}
	clock.now = clock.now.Add(awayMost)
	ask(200)
	ask(statusNoRoute)
	if err := a.refuse(read); err != nil {
		t.Errorf("one failure after a success: %v", err)
	}
}

// steppedClock stands still until it is put forward.
type steppedClock struct{ now time.Time }

func (c *steppedClock) Now() time.Time                       { return c.now }
func (c *steppedClock) After(time.Duration) <-chan time.Time { return nil }
