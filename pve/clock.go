package pve

import (
	"net/http"
	"time"
)

// clockNoise is by how much clocks seem to differ that don't: answers say the time in whole
// seconds, and take some time themselves.
const clockNoise = 3 * time.Second

// Now returns the time by Proxmox' clock, as of its last answer: the ages of tasks and snapshots go
// by that one, also where this computer's clock is wrong.
func (c *Client) Now() time.Time {
	return c.core.cfg.Clock.Now().Add(time.Duration(c.core.ahead.Load()))
}

// Local converts a time by Proxmox' clock into one by this computer's clock.
func (c *Client) Local(t time.Time) time.Time {
	return t.Add(-time.Duration(c.core.ahead.Load()))
}

// hearClock notes what an answer says the time is.
func (c *core) hearClock(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	ahead := at.Sub(c.cfg.Clock.Now())
	if ahead.Abs() <= clockNoise {
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
}
