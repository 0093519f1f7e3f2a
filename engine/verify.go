package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
)

// Lists don't show all that somebody may have changed by hand, so a session reads the
// configs of its guests again, one after the other, and the disks that the storages have.

const (
	// verifyRound is within which time each guest's config is read again, unless its owner says otherwise.
	verifyRound = time.Hour
	// maxVerify bounds how many are read in each restPeriod, so that with the lists, an
	// agent and a storage there are no more than 60 requests a minute, however many guests
	// there are.
	maxVerify = 15
	// missingPause is how often a storage is asked that seems to lack a disk: somebody may
	// have put it back.
	missingPause = 10 * time.Minute
	// haPause is how often the HA config is read, if some machine is under HA.
	haPause = 10 * time.Minute
	// verifyPause is how often it is reported that an object was verified again, if nothing
	// else is new.
	verifyPause = 10 * time.Minute
)

// verifyShare returns how many of some guests are read in each restPeriod, so that all are read within a time.
func verifyShare(guests int, within time.Duration) int {
	periods := max(1, int(within/restPeriod))
	return min((guests+periods-1)/periods, maxVerify)
}

// restingGuests returns the guests that no step works on: all of them, and by the period in which each is read again.
func (r *run) restingGuests() (ids []int, within map[time.Duration][]int) {
	seen := map[int]bool{}
	within = map[time.Duration][]int{}
	for _, o := range r.order {
		if id := o.plan.VMID; id != 0 && !o.busy() && !o.plan.Gone && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
			within[o.part.opts.Verify] = append(within[o.part.opts.Verify], id)
		}
	}
	return ids, within
}

// nextConfigs returns the guests whose configs are read in this round: those that seem to lack
// a disk, and those that were read the longest ago.
func (r *run) nextConfigs(within map[time.Duration][]int, now time.Time) (ids []int) {
	for _, period := range slices.Sorted(maps.Keys(within)) {
		guests := within[period]
		ids = append(ids, r.e.observer.Oldest(guests, r.live.share(len(guests), period, now), maxVerify-len(ids))...)
	}
	return ids
}

// share returns how many of some guests are read in this round. Within a period that is longer than the usual one, not every round reads one.
func (l *live) share(guests int, within time.Duration, now time.Time) int {
	if within <= verifyRound || guests == 0 {
		return verifyShare(guests, within)
	}
	due, each := l.verify[within], within/time.Duration(guests)
	if now.Before(due) {
		return 0
	}
	if due.Before(now.Add(-each)) { // it was missed
		due = now
	}
	if l.verify == nil {
		l.verify = map[time.Duration]time.Time{}
	}
	l.verify[within] = due.Add(each)
	return verifyShare(guests, within)
}

// nextDisks returns a function that reads the disks of the storage whose turn it is; nil: none is due.
func (r *run) nextDisks(guests []int) func(context.Context) error {
	return r.e.observer.NextDisks(guests, verifyRound, missingPause)
}

// asksAgain reports whether the guest of an object that was ready was restarted or moved, and its agent
// is being asked again: whether it is still ready is known in a moment.
func (r *run) asksAgain(o *object) (asks bool) {
	if !o.asking || o.last.state != StateReady {
		return false
	}
	r.e.observer.View(func(have *model.Observed) {
		g := have.Guests[o.plan.VMID]
		asks = g != nil && g.Agent == model.AgentUnasked
	})
	return asks
}
