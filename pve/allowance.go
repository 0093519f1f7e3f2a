package pve

import (
	"sync"
	"time"
)

// Looks at tasks of all nodes together. A few tasks are followed as closely as they can be,
// and many at once too, since one look shows all tasks of a node. Tasks that go on starting
// one after the other, such as those of machines for which there is no room, aren't worth
// ten looks a second at each node. There are enough at once to follow an image that each of five
// nodes fetches and makes a template of.
const (
	looksAtOnce    = 200
	looksPerTask   = 2
	looksPerSecond = 2
)

// allowance is how many looks there may be. All watchers of a client share one.
type allowance struct {
	mu   sync.Mutex
	left float64
	at   time.Time // when left was right
}

// earn adds looks.
func (a *allowance) earn(n float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = min(a.left+n, looksAtOnce)
}

// spend takes a look, and says how long it has to wait.
func (a *allowance) spend(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = min(a.left+now.Sub(a.at).Seconds()*looksPerSecond, looksAtOnce)
	a.at = now
	if a.left--; a.left >= 0 {
		return 0
	}
	return time.Duration(-a.left / looksPerSecond * float64(time.Second))
}
