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
	next    time.Time // when everything is looked at again
	trouble *trouble  // nothing can be done at present
	asked   int       // place in the order of the guest whose agent was asked last
	unread  []*object // that there seems to be nothing to do for, and that are read later
	more    time.Time // when some of them are
	haAsked time.Time // when the HA config was last forgotten, to be read again
}

// trouble is why nothing can be done at all.
type trouble struct {
	err   error
	since time.Time
}

var errNotLooked = errors.New("nothing was looked at yet")

// early reports whether nothing was looked at yet, so that there is nothing to report.
func (t *trouble) early() bool { return t != nil && errors.Is(t.err, errNotLooked) }

// wait is what objects wait for meanwhile.
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

// suspend notes that nothing can be done at present.
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

// resume goes on after trouble: what failed meanwhile failed because of it. What was up
// to date before may not be any more, so every object is compared with what there is now,
// and is reported anew once its state is known.
func (r *run) resume() {
	if r.live == nil || r.live.trouble == nil {
		return
	}
	early := r.live.trouble.early()
	r.live.trouble = nil
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

// reportTo does so to one caller.
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

// keepWatch looks at everything when it is time, and finds out when that is next.
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

// round looks at the whole cluster, and closer at some guests in turn: somebody may have
// changed a config in a way that the lists don't show, or a guest may have got another
// address. What can't be read now can be later.
func (r *run) round() {
	r.listing = true
	guests, within := r.restingGuests()
	agent, configs, disks := r.nextAgent(), r.nextConfigs(within), r.nextDisks(guests)
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

// nextAgent is the guest whose agent is asked in this round: those that run and
// whose addresses matter take turns, also while a change of them waits for a person. 0: nobody wants to know.
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

// drift finds out what isn't up to date any more.
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

// othersWork reports whether somebody works on a guest, a backup perhaps. One that is
// up to date stays so meanwhile; what comes of it is seen later.
func othersWork(w *plan.Wait) bool {
	return w != nil && (w.Reason == model.WaitTask || w.Reason == model.WaitLock)
}

// tryAgain is when an object is tried again that fails each time; zero: never.
func (r *run) tryAgain(f model.Failure) time.Time {
	switch {
	case !f.Hard:
		return f.Next
	case r.live != nil:
		return f.At.Add(hardPause)
	}
	return time.Time{}
}

// claimError is a failure to remember something before it is done.
type claimError struct {
	vmid int
	err  error
}

func (e *claimError) Error() string { return fmt.Sprintf("note down VMID %d: %v", e.vmid, e.err) }
func (e *claimError) Unwrap() error { return e.err }

// claim has it written down which VMID an object gets, before something is made
// under it.
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
