package engine

import (
	"time"

	"github.com/proxplane/proxplane/model"
)

// Lists don't show all that somebody may have changed by hand, so a session reads the
// configs of its guests again, one after the other.

const (
	// verifyRound is within which time each guest's config is read again.
	verifyRound = time.Hour
	// maxVerify bounds how many are read in each restPeriod, so that with the lists and an
	// agent there are no more than 60 requests a minute, however many guests there are.
	maxVerify = 16
	// haPause is how often it is read what HA was told, if some machine is under HA.
	haPause = 10 * time.Minute
	// verifyPause is how often it is told that an object was verified again, if nothing
	// else is new.
	verifyPause = 10 * time.Minute
)

// verifyShare is how many of so many guests are read in each restPeriod.
func verifyShare(guests int) int {
	periods := int(verifyRound / restPeriod)
	return min((guests+periods-1)/periods, maxVerify)
}

// nextConfigs are the guests whose configs are read in this round: those that were read
// the longest ago.
func (r *run) nextConfigs() []int {
	seen := map[int]bool{}
	var ids []int
	for _, o := range r.order {
		if id := o.plan.VMID; id != 0 && o.done && !o.plan.Gone && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return r.e.observer.Oldest(ids, verifyShare(len(ids)))
}

// asksAgain reports whether the agent of an object that was ready is being asked anew,
// since its guest was restarted or moved, and hasn't answered yet: whether it is still
// ready is known in a moment.
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
