package engine

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/plan"
)

// live is what a run has that doesn't end when all is up to date.
type live struct {
	next    time.Time                   // when everything is looked at again
	trouble *trouble                    // nothing can be done at present
	asked   int                         // place in the order of the guest whose agent was asked last
	unread  []*object                   // that there seems to be nothing to do for, and that are read later
	more    time.Time                   // when some of them are
	haAsked time.Time                   // when the HA config was last forgotten, to be read again
	verify  map[time.Duration]time.Time // when the next guest of a long period is read again
}

// trouble is why nothing can be done at all.
type trouble struct {
	err   error
	since time.Time
}

var errNotLooked = errors.New("nothing was looked at yet")

// early reports whether nothing was read yet, so that there is no trouble to report.
func (t *trouble) early() bool { return t != nil && errors.Is(t.err, errNotLooked) }

// wait returns what all objects wait for during the trouble.
func (t *trouble) wait() *plan.Wait {
	if other := (*observe.OtherProxmoxError)(nil); errors.As(t.err, &other) {
		return &plan.Wait{Reason: model.WaitOther, Text: other.Error()}
	}
	f := act.Judge(t.err)
	w := &plan.Wait{Reason: model.WaitAway, Text: "Proxmox can't be reached: " + f.Text}
	if f.Class == act.Fatal {
		w = &plan.Wait{Reason: model.WaitLogin, Text: "Proxmox refuses the login: " + f.Text}
	}
	w.Do = f.Hint
	return w
}

// restPeriod is how often everything is looked at while nothing is to be done: two
// lists, one agent, some configs and one storage, see verifyShare.
const restPeriod = 20 * time.Second

// hardPause is how long something rests that fails each time. A person may have
// changed something meanwhile that can't be seen from here.
const hardPause = 5 * time.Minute

// suspend records that nothing can be done at present.
func (r *run) suspend(err error) {
	if act.Judge(err).Class == act.Stopped {
		return
	}
	if t := r.live.trouble; t == nil || t.early() {
		r.live.trouble = &trouble{err: err, since: time.Now()}
		r.unknownAgain()
		r.reportTrouble()
	} else {
		t.err = err
	}
	r.tellAll()
	r.listBy(time.Now().Add(r.listPause))
}

// resume continues after trouble. Failures meanwhile are ascribed to it and forgotten. Objects that
// were up to date may have drifted, so every object is compared with Proxmox again, and is
// reported anew once its state is known.
func (r *run) resume() {
	if r.live == nil || r.live.trouble == nil {
		return
	}
	early := r.live.trouble.early()
	r.live.trouble = nil
	if early {
		r.live.next = time.Now().Add(restPeriod) // everything was listed just now
	}
	for _, o := range r.order {
		o.last = view{}
		if o.phase.pending() {
			r.retryAll(o)
			r.due[o] = true
		}
	}
	if !early {
		r.drift()
	}
	r.reportTrouble()
}

// reportTrouble reports to all callers why nothing can be done, or that it is over.
func (r *run) reportTrouble() {
	for _, p := range r.parts {
		r.reportTo(p)
	}
}

// reportTo reports the trouble, or its end, to one caller.
func (r *run) reportTo(p *part) {
	if p.opts.Trouble == nil {
		return
	}
	if t := r.live.trouble; t != nil {
		p.opts.Trouble(t.wait(), t.since)
		return
	}
	p.opts.Trouble(nil, time.Now())
}

// keepWatch observes everything when it is time, and calls by with the next time.
func (r *run) keepWatch(now time.Time, by func(time.Time)) {
	if r.live.trouble != nil {
		return // the next list that succeeds ends it
	}
	if !now.Before(r.live.next) {
		if r.listing {
			return // Proxmox takes its time to answer, and its answer ends this
		}
		r.live.next = now.Add(restPeriod)
		r.round()
	}
	by(r.live.next)
}

// round reads the lists, and in turn the configs and an agent of a few guests: somebody may have
// changed a config in a way that the lists don't show, or a guest may have another address. What
// can't be read now is read in a later round.
func (r *run) round() {
	r.listing = true
	guests, within := r.restingGuests()
	agent, configs, disks := r.nextAgent(), r.nextConfigs(within, time.Now()), r.nextDisks(guests)
	if now := time.Now(); now.After(r.live.haAsked.Add(haPause)) {
		r.live.haAsked = now
		r.e.observer.HAUnsure() // whoever has a machine under HA reads it again, for all
	}
	r.callIdle(func() func() {
		var all sync.WaitGroup
		for _, vmid := range configs {
			all.Go(func() { _ = r.e.observer.Verify(r.ctx, vmid) })
		}
		if agent != 0 {
			all.Go(func() { _ = r.e.observer.AskOnce(r.ctx, agent) })
		}
		if disks != nil {
			all.Go(func() { _ = disks(r.ctx) })
		}
		err := r.e.observer.Refresh(r.ctx, 0)
		all.Wait()
		return func() {
			r.listing = false
			if err != nil {
				r.suspend(err)
				return
			}
			for o := range r.waiting {
				r.due[o] = true
			}
			r.drift()
			r.looked()
		}
	})
}

// nextAgent returns the guest whose agent is asked in this round; 0: none. Running guests whose
// addresses matter take turns, also while a change of them waits for a person.
func (r *run) nextAgent() (vmid int) {
	r.e.observer.View(func(have *model.Observed) {
		for range r.order {
			r.live.asked = (r.live.asked + 1) % len(r.order)
			o := r.order[r.live.asked]
			g := have.Guests[o.plan.VMID]
			if o.part.opts.Changed == nil || o.plan.Gone || g == nil || g.Status != model.StatusRunning || !r.vm(o).WaitAddress {
				continue
			}
			if o.phase == done || r.waiting[o] && !o.busy() && !o.asking && g.OwnedBy(o.owner) {
				vmid = g.VMID
				return
			}
		}
	})
	return vmid
}

// drift compares objects that were up to date with what is known now, and plans those that have drifted.
func (r *run) drift() {
	for _, part := range r.parts {
		r.driftOf(part)
	}
}

func (r *run) driftOf(part *part) {
	for _, p := range r.e.plan(part.want.All(), part.standing).Objects {
		o := part.objects[p.Owner.Key]
		if o == nil {
			r.add(part, p) // what is left over of a set
			continue
		}
		if o.phase != done {
			continue
		}
		switch {
		case othersWork(p.Wait):
		case p.Ready() && p.Gone == o.plan.Gone:
			o.plan.VMID, o.plan.Node, o.plan.Templates = p.VMID, p.Node, p.Templates
		default:
			o.phase = recheck
			r.due[o] = true
		}
	}
}

// othersWork reports whether somebody else works on a guest, such as a backup. A guest that is up to
// date stays so meanwhile; the result is observed later.
func othersWork(w *plan.Wait) bool {
	return w != nil && (w.Reason == model.WaitTask || w.Reason == model.WaitLock)
}

// tryAgain returns when an object is retried after a failure; zero: never.
func (r *run) tryAgain(f model.Failure) time.Time {
	switch {
	case !f.Hard:
		return f.Next
	case r.live != nil:
		return f.At.Add(hardPause)
	}
	return time.Time{}
}

// claimError is a failure to store a VMID before a guest is created under it.
type claimError struct {
	vmid int
	err  error
}

func (e *claimError) Error() string { return fmt.Sprintf("note down VMID %d: %v", e.vmid, e.err) }
func (e *claimError) Unwrap() error { return e.err }

// claim stores the VMID of an object, before a guest is created under it.
func (r *run) claim(o *object, a model.Action, at plan.Object) error {
	if o.part.opts.Claim == nil || !model.FactsOf(a).Makes {
		return nil
	}
	owner := o.owner
	if image, _, ok := owner.CopyOf(); ok {
		owner.Key = image // which is what people have written
	}
	if err := o.part.opts.Claim(r.calls, owner, at.VMID, at.Node); err != nil {
		return &claimError{at.VMID, err}
	}
	return nil
}
