package observe

import (
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// GivenUp is how long Proxmox may still work on a request after the client has given up: it
// waits 30 s for another node, 10 s for a lock, and while the cluster's filesystem hangs.
const GivenUp = 90 * time.Second

// traceless are the aspects that a request in flight changes later without a trace: the config
// has a digest and tasks are listed, these have neither.
const traceless = model.AspectHA | model.AspectPool

// Lost records that the answer to an action was lost: Proxmox may still be working on it.
func (o *Observer) Lost(action model.Action) {
	if model.FactsOf(action).Changes.Has(model.AspectFiles) {
		o.mu.Lock()
		o.filesLate = time.Now().Add(GivenUp)
		o.mu.Unlock()
	}
	changes := model.FactsOf(action).Changes & traceless
	if changes == 0 {
		return
	}
	o.change(action.Guest(), func(r *record) { r.lost, r.lostAt = r.lost|changes, time.Now() })
}

// inFlight returns what may still be changed by a request whose answer was lost: one of this process,
// or of one before it.
func (r *record) inFlight() (a model.Aspect) {
	if r.listedAt.Before(r.heard.Add(GivenUp)) {
		a = traceless &^ r.answered
	}
	if r.lost != 0 && r.listedAt.Before(r.lostAt.Add(GivenUp)) {
		a |= r.lost
	}
	return a
}

// lateFiles forgets the files once more when a request whose answer was lost can't bring one any
// more, and when Proxmox has fetched one of ours that may have been asked for by such a request.
func (o *Observer) lateFiles(at time.Time, tasks []pve.TaskInfo) {
	if !o.filesLate.IsZero() && at.After(o.filesLate) {
		o.filesLate = time.Time{}
		o.have.Files = nil
	}
	fetching := map[string]bool{}
	for _, t := range tasks {
		if t.Type == "download" && t.Running() && strings.HasPrefix(t.ID, model.Tag+"-") {
			fetching[t.UPID.String()] = true
		}
	}
	for task := range o.fetching {
		if !fetching[task] {
			o.have.Files = nil
		}
	}
	o.fetching = fetching
}
