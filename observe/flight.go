package observe

import (
	"time"

	"github.com/proxplane/proxplane/model"
)

// GivenUp is how long Proxmox may still work on a request after nobody waits for its answer
// any more: it waits 30 s for another node, 10 s for a lock, and while the cluster's
// filesystem hangs.
const GivenUp = 90 * time.Second

// traceless are the aspects that a request in flight changes later without a trace: the config
// has a digest and tasks are listed, these have neither.
const traceless = model.AspectHA | model.AspectPool

// Lost notes that the answer to an action was lost: Proxmox may still be working on it.
func (o *Observer) Lost(action model.Action) {
	changes := model.FactsOf(action).Changes & traceless
	if changes == 0 {
		return
	}
	o.change(action.Guest(), func(r *record) { r.lost, r.lostAt = r.lost|changes, time.Now() })
}

// inFlight is what a request may still change whose answer nobody waits for: one of ours,
// or one of a process before us.
func (r *record) inFlight() (a model.Aspect) {
	if r.listedAt.Before(r.heard.Add(GivenUp)) {
		a = traceless &^ r.answered
	}
	if r.lost != 0 && r.listedAt.Before(r.lostAt.Add(GivenUp)) {
		a |= r.lost
	}
	return a
}
