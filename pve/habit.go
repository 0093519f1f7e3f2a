package pve

import (
	"slices"
	"sync"
	"time"
)

// habits are how long tasks of each type have taken of late, as far as a watcher has seen.
type habits struct {
	mu    sync.Mutex
	lasts map[string][]time.Duration // the newest is the last
}

const (
	habitKept = 8               // how many of each type count
	habitMost = 5 * time.Second // nobody relies on more: what fails may end at once
)

// note remembers that a task had ended by an age. If nobody had looked at it before, it may have ended earlier: it counts as
// a bit shorter, so that tasks that get quicker are noticed earlier.
func (h *habits) note(kind string, age time.Duration, first bool, quick time.Duration) {
	if first {
		age -= quick / 4
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lasts == nil {
		h.lasts = map[string][]time.Duration{}
	}
	list := append(h.lasts[kind], age)
	h.lasts[kind] = list[max(0, len(list)-habitKept):]
}

// usual is how long a task of a type takes at least, as it seems; 0: nothing is known.
func (h *habits) usual(kind string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.lasts[kind]) == 0 {
		return 0
	}
	return min(slices.Min(h.lasts[kind]), habitMost)
}
