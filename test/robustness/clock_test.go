package robustness

import (
	"flag"
	"time"
)

var wrongClocks = flag.Float64("clocks", 0.05, "the `PART` of histories with a Proxmox whose clock is wrong by minutes: 0 none, 1 all")

// wrongClock is by how much Proxmox' clock is ahead of ours.
type wrongClock time.Duration

// drawClock draws a clock, mostly the right one.
func drawClock(d dice) wrongClock {
	if !d.chance(*wrongClocks) {
		return 0
	}
	ahead := d.between(5*time.Second, 10*time.Minute).Truncate(time.Second)
	if d.chance(0.5) {
		ahead = -ahead
	}
	return wrongClock(ahead)
}

func (c wrongClock) Now() time.Time { return time.Now().Add(time.Duration(c)) }

func (c wrongClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
