package pve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

// A storage gets few clones at first, since nobody knows how many it can take. While others
// wait for a place there, clones under way are looked at: in their logs Proxmox says when they
// have to wait for the storage. As long as they don't, more are let in.

const (
	// scoutAge is how old a clone is when it is looked at first.
	scoutAge = 25 * time.Millisecond
	// scoutPause is the longest pause between two looks at the same clone.
	scoutPause = time.Second
	// After a look that failed the next one waits from scoutBlind to scoutBlindest: a node that
	// doesn't answer isn't asked all the time, however many wait.
	scoutBlind    = 5 * time.Second
	scoutBlindest = time.Minute
)

// scouting is somebody who looks at the clones of a storage, for all who wait there.
type scouting struct {
	cancel context.CancelFunc
	users  int           // whose contexts haven't ended
	leave  []func() bool // drop what waits for the contexts of users to end
}

// scout starts looking at the clones of a storage, unless somebody does already or there is
// nothing to find out. It is done for all who wait, so it goes on when ctx ends, until the
// contexts of all of them have. A caller hands in what it got from its call before.
func (g *gate) scout(ctx context.Context, c *Client, key admission.Key, before *scouting) *scouting {
	if key.Storage == "" || !g.load.Load().limiter.Searching(key) {
		return before
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.scouts[key.Storage]
	if s != nil && s == before {
		return s
	}
	if s == nil {
		s = &scouting{}
		g.scouts[key.Storage] = s
		var looks context.Context
		looks, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
		go func() {
			defer g.scouted(key.Storage, s)
			g.search(looks, c, key)
		}()
	}
	s.users++
	s.leave = append(s.leave, context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if s.users--; s.users == 0 {
			s.cancel()
		}
	}))
	return s
}

// scouted notes that nobody looks at the clones of a storage any more.
func (g *gate) scouted(storage string, s *scouting) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.scouts, storage)
	for _, leave := range s.leave {
		leave()
	}
	s.cancel()
}

// search looks at the clones that were started last, as long as that lets more in.
func (g *gate) search(ctx context.Context, c *Client, key admission.Key) {
	var seen UPID
	blind := scoutBlind
	for pause := scoutAge; g.load.Load().limiter.Searching(key); {
		clones := g.clonesOn(key.Storage)
		if len(clones) == 0 || clones[0].upid == seen {
			// They have said what they can; the next ones are about to come.
			if pause > scoutPause/2 && len(clones) == 0 {
				return // what keeps the storage busy isn't clones
			}
			if sleep(ctx, g.clock, pause) != nil {
				return
			}
			pause = min(2*pause, scoutPause)
			continue
		}
		if !g.watch(ctx, c, clones) {
			if sleep(ctx, g.clock, blind) != nil {
				return
			}
			blind = min(2*blind, scoutBlindest)
			continue
		}
		seen, pause, blind = clones[0].upid, scoutAge, scoutBlind
	}
}

// heldClone is a clone under way.
type heldClone struct {
	*hold
	upid UPID
}

// clonesOn are the clones under way on a storage, those that were started last first.
func (g *gate) clonesOn(storage string) []heldClone {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []heldClone
	for upid, h := range g.held {
		if h.storage == storage {
			list = append(list, heldClone{h, upid})
		}
	}
	slices.SortFunc(list, func(a, b heldClone) int {
		return cmp.Or(b.since.Compare(a.since), cmp.Compare(b.upid.PStart, a.upid.PStart), cmp.Compare(b.upid.PID, a.upid.PID))
	})
	return list
}

// sample is how many of so many clones are looked at. They don't come to the lock in the order
// in which they were started: one that doesn't wait tells nothing about the others.
func sample(among int) int {
	if among < 16 {
		return min(among, 5)
	}
	return 8
}

// watch looks at clones until it is known whether they wait for their storage, and for how long.
// It gives up when that can't be known.
func (g *gate) watch(ctx context.Context, c *Client, clones []heldClone) (ok bool) {
	among, last := len(clones), clones[0]
	open := clones[:sample(among)]
	for pause := scoutAge - g.clock.Now().Sub(last.since); ; pause = min(max(2*pause, scoutAge), scoutPause) {
		if pause > 0 && sleep(ctx, g.clock, pause) != nil {
			return false
		}
		states, err := c.cloneStates(ctx, open)
		if err != nil {
			return false
		}
		if i := slices.Index(states, cloneWaits); i >= 0 {
			return g.watchWaiting(ctx, c, open[i], among)
		}
		waited := time.Duration(0)
		for i, state := range states {
			if state == cloneWaited {
				waited = max(waited, g.clock.Now().Sub(open[i].since))
			}
		}
		if !slices.Contains(states, cloneBefore) {
			last.slot.Saw(admission.Sight{Among: among, Waited: waited, Through: true})
			return true
		}
	}
}

// watchWaiting looks at a clone that waits until it doesn't any more, or has waited for long.
func (g *gate) watchWaiting(ctx context.Context, c *Client, clone heldClone, among int) (ok bool) {
	for pause := scoutAge; ; pause = min(2*pause, scoutPause) {
		if sleep(ctx, g.clock, pause) != nil {
			return false
		}
		states, err := c.cloneStates(ctx, []heldClone{clone})
		if err != nil {
			return false
		}
		sight := admission.Sight{Among: among, Waited: g.clock.Now().Sub(clone.since), Through: states[0] != cloneWaits}
		clone.slot.Saw(sight)
		if sight.Through || sight.Waited > scoutLimit {
			return true
		}
	}
}

// cloneStates reads how far clones are, side by side.
func (c *Client) cloneStates(ctx context.Context, clones []heldClone) ([]int, error) {
	states, errs := make([]int, len(clones)), make([]error, len(clones))
	var all sync.WaitGroup
	for i, clone := range clones {
		all.Go(func() {
			var lines []string
			lines, _, errs[i] = c.Task(clone.upid).Log(ctx, LogOptions{Limit: logPage})
			states[i] = cloneState(lines)
		})
	}
	all.Wait()
	return states, errors.Join(errs...)
}

// scoutLimit is how long a clone is watched that waits: somewhat longer than is needed to say
// that it waits for long.
const scoutLimit = 4 * time.Second

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
