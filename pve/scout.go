package pve

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

// A storage gets few clones at first, since nobody knows how many it can take. While others
// wait for a place there, the last of the clones under way is looked at: in its log Proxmox says
// when it has to wait for the storage. As long as it doesn't, more are let in.

const (
	// scoutAge is how old a clone is when it is looked at first.
	scoutAge = 25 * time.Millisecond
	// scoutPause is the longest pause between two looks at the same clone.
	scoutPause = time.Second
)

// scout starts looking at the clones of a storage, unless somebody does already or there is
// nothing to find out. It ends with ctx; those who wait longer start it again.
func (g *gate) scout(ctx context.Context, c *Client, key admission.Key) {
	if key.Storage == "" || !g.limiter.Searching(key) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.scouts[key.Storage] {
		return
	}
	g.scouts[key.Storage] = true
	go func() {
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.scouts, key.Storage)
		}()
		g.search(ctx, c, key)
	}()
}

// search looks at one last clone after the other, as long as that lets more in.
func (g *gate) search(ctx context.Context, c *Client, key admission.Key) {
	var seen UPID
	for pause := scoutAge; g.limiter.Searching(key); {
		upid, h, among := g.last(key.Storage)
		if h == nil {
			return
		}
		if upid == seen {
			// It has said what it can; the next one is about to come.
			if sleep(ctx, g.clock, pause) != nil {
				return
			}
			pause = min(2*pause, scoutPause)
			continue
		}
		if !g.watch(ctx, c, upid, h, among) {
			return
		}
		seen, pause = upid, scoutAge
	}
}

// last is the clone on a storage that was started last, and how many there are.
func (g *gate) last(storage string) (upid UPID, h *hold, among int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, other := range g.held {
		if other.storage != storage {
			continue
		}
		among++
		if h == nil || cmp.Or(other.since.Compare(h.since), cmp.Compare(id.PStart, upid.PStart), cmp.Compare(id.PID, upid.PID)) > 0 {
			upid, h = id, other
		}
	}
	return upid, h, among
}

// watch looks at a clone until it is known whether it waits for its storage, and for how long.
// It gives up when that can't be known.
func (g *gate) watch(ctx context.Context, c *Client, upid UPID, h *hold, among int) (ok bool) {
	waits := false
	for pause := scoutAge - g.clock.Now().Sub(h.since); ; pause = min(max(2*pause, scoutAge), scoutPause) {
		if pause > 0 && sleep(ctx, g.clock, pause) != nil {
			return false
		}
		lines, _, err := c.Task(upid).Log(ctx, LogOptions{Limit: logPage})
		if err != nil || !g.holds(upid) {
			return err == nil
		}
		sight := admission.Sight{Among: among, Waited: g.clock.Now().Sub(h.since)}
		switch cloneState(lines) {
		case cloneBefore:
			continue
		case cloneWaits:
			waits = true
		case cloneWaited:
			sight.Through = true
		case cloneThrough:
			if sight.Through = true; !waits {
				sight.Waited = 0
			}
		}
		h.slot.Saw(sight)
		if sight.Through || sight.Waited > scoutLimit {
			return true
		}
	}
}

// scoutLimit is how long a clone is watched that waits: somewhat longer than is needed to say
// that it waits for long.
const scoutLimit = 4 * time.Second

func (g *gate) holds(upid UPID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[upid] != nil
}

// How far a clone is with its storage.
const (
	cloneBefore  = iota // it doesn't need the storage yet
	cloneWaits          // it waits for the storage's lock
	cloneWaited         // it has the lock, after a wait
	cloneThrough        // it didn't have to wait
)

// cloneState reads a clone's log. What comes before the first disk is about the locks of VMs.
func cloneState(lines []string) int {
	state := cloneBefore
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "create linked clone of drive "), strings.HasPrefix(line, "create full clone of drive "):
			state = cloneThrough
		case state == cloneBefore:
		case line == "trying to acquire lock...", strings.HasPrefix(line, "trying to acquire cfs lock 'storage-"):
			state = cloneWaits
		case state == cloneWaits:
			return cloneWaited // anything else comes with the lock held
		default:
			return cloneThrough
		}
	}
	return state
}
