package kube

import (
	"regexp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// sameEvent is what events that are counted together have in common.
type sameEvent struct {
	uid                                 types.UID
	related, kind, reason, action, note string
}

// figures are words with digits.
var figures = regexp.MustCompile(`\S*\d\S*`)

func (e Event) same() sameEvent {
	s := sameEvent{uid: e.About.UID, kind: e.Type, reason: e.Reason, action: e.Action, note: e.Note}
	if e.Related != nil {
		s.related = e.Related.Name
	}
	if !e.Step {
		s.note = figures.ReplaceAllString(e.Note, "N")
	}
	return s
}

// series is an event that was written, or is about to be.
type series struct {
	namespace, name string
	count           int32
	last, written   time.Time
}

const (
	// A repetition within seriesLast is counted, and the count is written every seriesPause.
	seriesLast  = 10 * time.Minute
	seriesPause = time.Minute
	// maxSeries bounds how many are remembered.
	maxSeries = 5000
)

// counts are the recent events.
type counts struct {
	mu    sync.Mutex
	known map[sameEvent]*series
}

// add counts an event and reports whether the count is to be written. nil: the event is a new one. It is known from now on, since it may
// be repeated before it is written.
func (c *counts) add(same sameEvent, first *series) (s *series, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, at := c.known[same], first.last
	if known == nil || at.Sub(known.last) > seriesLast {
		c.remember(same, first)
		return nil, false
	}
	known.count, known.last = known.count+1, at
	if due = at.Sub(known.written) >= seriesPause; due {
		known.written = at
	}
	found := *known
	return &found, due
}

// forget drops an event that couldn't be written.
func (c *counts) forget(same sameEvent, s *series) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[same] == s {
		delete(c.known, same)
	}
}

// restart begins a new count.
func (c *counts) restart(same sameEvent, first *series) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(same, first)
}

func (c *counts) remember(same sameEvent, s *series) {
	if len(c.known) >= maxSeries {
		for key, old := range c.known {
			if s.last.Sub(old.last) > seriesLast/10 {
				delete(c.known, key)
			}
		}
	}
	if len(c.known) >= maxSeries {
		clear(c.known) // repeated events are written again then
	}
	c.known[same] = s
}
