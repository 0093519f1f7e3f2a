package engine

import (
	"testing"
	"time"
)

// All guests are read again within the period, and no more often than that takes where it is long.
func TestEachGuestIsReadAgainWithinItsPeriod(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		guests     int
		within     time.Duration
		least, few int // reads in each period
	}{
		{0, day, 0, 0}, {1, day, 1, 1}, {24, day, 24, 24}, {1000, day, 1000, 1000}, {10000, day, 10000, 15 * 4320}, {24, time.Hour, 180, 180},
	} {
		l, now := &live{}, time.Unix(1800000000, 0)
		for range 3 {
			reads := 0
			for range int(c.within / restPeriod) {
				reads += l.share(c.guests, c.within, now)
				now = now.Add(restPeriod)
			}
			if reads < c.least || reads > c.few {
				t.Errorf("%d guests in %v: %d reads, want %d to %d", c.guests, c.within, reads, c.least, c.few)
			}
		}
	}
}
