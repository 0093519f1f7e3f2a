package robustness

import (
	"flag"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

var wrongClocks = flag.Float64("clocks", 0.05, "the `PART` of histories with a Proxmox whose clock is wrong by minutes: 0 none, 1 all")

// drawClock draws a clock, mostly the right one.
func drawClock(d dice) pvesim.AheadClock {
	if !d.chance(*wrongClocks) {
		return 0
	}
	ahead := d.between(5*time.Second, 10*time.Minute).Truncate(time.Second)
	if d.chance(0.5) {
		ahead = -ahead
	}
	return pvesim.AheadClock(ahead)
}
