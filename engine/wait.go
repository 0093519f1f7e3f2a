package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// wait records that nothing can be done for an object now, and arranges for what ends the wait to be
// noticed.
func (r *run) wait(o *object, w *plan.Wait) {
	if r.live != nil && o.phase == recheck && othersWork(w) {
		o.phase, o.looks = done, 0
		return
	}
	r.waiting[o], o.looks = true, 0
	was := o.wait.said
	if o.wait.reason != w.Reason {
		o.wait.reason, o.wait.since, was = w.Reason, time.Now(), ""
		r.listPause = firstList
	}
	if o.wait.said = words(fmt.Sprint(w.Text, w.Diff)); o.wait.said != was {
		e := Event{Kind: Waiting, Reason: w.Reason, Text: w.Text, Diff: w.Diff, Hint: w.Do, Task: w.Task}
		if w.Reason == model.WaitRefused {
			e.Refused = o.plan.Refused
		}
		r.emit(o, e)
	}
	switch {
	case w.Task != "":
		r.await(o, w.Task)
	case w.Reason == model.WaitFailed:
		r.retryLater(o)
	case w.Reason == model.WaitSource && r.madeHere(o):
		r.lastListBy(time.Now().Add(lastList)) // whoever makes it wakes this object
	case w.Reason.Facts().Listed:
		r.listBy(time.Now().Add(r.listPause))
	}
	if w.Reason == model.WaitSource {
		r.reopen(o)
	}
	if w.Guest != 0 {
		r.e.observer.Changed(w.Guest) // and is to be read again
	}
	if w.Reason == model.WaitPending && o.plan.VMID != 0 {
		// The list is late about what runs.
		r.e.observer.Unsure(o.plan.VMID)
	}
}

// madeHere reports whether this run is at work on the image that an object is made from, or on its templates.
func (r *run) madeHere(o *object) bool {
	want := o.part.want
	making := slices.Clone(want.Copies(o.owner.Key))
	for _, key := range want.Sources(o.owner.Key) {
		if _, ok := want.Image(key); ok {
			making = append(append(making, key), want.Copies(key)...)
		}
	}
	return slices.ContainsFunc(making, func(key model.Key) bool {
		s := o.part.objects[key]
		return s != nil && s.phase.pending() && !r.waiting[s]
	})
}

// words returns a text without its figures, which change all the time.
func words(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == '.' {
			return -1
		}
		return c
	}, text)
}

// maxReopened bounds how often an object has others looked at again.
const maxReopened = 5

// reopen compares the objects that an object is made from with Proxmox again, where nothing was left to
// do for them: they may have changed since.
func (r *run) reopen(o *object) {
	for _, key := range o.part.want.Sources(o.owner.Key) {
		s := o.part.objects[key]
		if s == nil || o.reopened >= maxReopened {
			continue
		}
		if s.phase == done && !s.plan.Gone || r.waiting[s] && s.wait.reason == model.WaitRefused {
			o.reopened++
			s.phase = s.phase.doubted()
			r.due[s] = true
		}
	}
}

// retryLater schedules the retry of what failed: after its pause, and after a list that shows whether it
// was done all the same.
func (r *run) retryLater(o *object) {
	f, ok := r.failure(o)
	if !ok {
		return
	}
	listed := false
	r.e.observer.View(func(have *model.Observed) { listed = have.Listed.After(f.At) })
	if f.Lost && !f.Hard && !listed {
		r.listBy(time.Now().Add(r.listPause))
		return
	}
	o.wait.retry = r.tryAgain(f)
}

// await follows a task that this run hasn't started, and plans the object when it has ended.
func (r *run) await(o *object, task string) {
	if waiting, ok := r.follows[task]; ok {
		r.follows[task] = append(waiting, o)
		return
	}
	r.follows[task] = []*object{o}
	gone := r.vm(o).Deleted
	r.callIdle(func() func() {
		warnings, err := r.tasks.Follow(task) // how it ended is its owner's business
		return func() {
			r.taskEnded(task, err)
			// but for what it leaves of a guest that is to go, or that a former run has begun
			r.e.observer.FollowedOther(task, o.owner, gone, warnings, err, r.ctx.Err() != nil)
			r.followed(task)
		}
	})
}

// followed plans the objects that waited for a task of others.
func (r *run) followed(task string) {
	for _, o := range r.follows[task] {
		if o.plan.VMID != 0 {
			r.e.observer.Changed(o.plan.VMID)
			r.e.observer.Unsure(o.plan.VMID)
		}
		r.due[o] = true
	}
	r.e.observer.FilesUnsure()
	delete(r.follows, task)
}

// ask asks a guest's agent until it reports an address.
func (r *run) ask(o *object, vmid int) {
	r.waiting[o], o.looks = true, 0
	if o.wait.reason != model.WaitAgent {
		o.wait.reason, o.wait.since, o.wait.said = model.WaitAgent, time.Now(), ""
	}
	// One that was ready before, and restarted, mostly answers at once: that is no news.
	if o.wait.said == "" && (o.phase != recheck || o.plan.Wait != nil) {
		o.wait.said = "for its guest agent to report an address"
		r.emit(o, Event{Kind: Waiting, Reason: model.WaitAgent, Text: o.wait.said})
	}
	if o.asking {
		return
	}
	o.asking = true
	asked := time.Now()
	r.callIdle(func() func() {
		err := r.e.observer.Addresses(r.ctx, vmid)
		return func() {
			o.asking = false
			r.due[o] = true
			// A guest that was touched meanwhile may be another one, which has answered.
			if err != nil && !r.e.observer.Touched(vmid, asked) {
				r.lookFailed(o, "addresses", vmid, err)
			}
		}
	})
}

const (
	firstList = time.Second
	lastList  = 10 * time.Second
	listSoon  = 200 * time.Millisecond
	// justListed is how old lists may be with which a session begins: somebody has planned with them a moment ago.
	justListed = 2 * time.Second
)

// listBy asks for a list at a time, or earlier.
func (r *run) listBy(at time.Time) {
	if r.listDue.IsZero() || at.Before(r.listDue) {
		r.listDue = at
	}
}

// lastListBy asks for a list at a time if somebody still waits then for what another object is made from.
func (r *run) lastListBy(at time.Time) {
	if r.listLast.IsZero() || at.Before(r.listLast) {
		r.listLast = at
	}
}

// overdue requests a list if objects have waited long for what this run makes: it may have appeared otherwise.
func (r *run) overdue(now time.Time, by func(time.Time)) {
	switch {
	case r.listLast.IsZero():
	case r.listLast.After(now):
		by(r.listLast)
	default:
		r.listLast = time.Time{}
		for o := range r.waiting {
			if o.wait.reason == model.WaitSource {
				r.listBy(now)
			}
		}
	}
}

// listSoon asks for a list after a moment, in which others may need one too.
func (r *run) listSoon() { r.listBy(time.Now().Add(listSoon)) }

// list reads the lists, and plans all waiting objects again.
func (r *run) list() {
	r.listing, r.listDue = true, time.Time{}
	r.listPause = min(r.listPause*3/2, lastList)
	age := time.Duration(0)
	if r.live != nil && r.live.trouble.early() {
		age = justListed
	}
	r.callIdle(func() func() {
		err := r.e.observer.Refresh(r.ctx, age)
		return func() {
			r.listing = false
			if err == nil {
				r.resume()
				r.noticeLeft()
				for o := range r.waiting {
					r.due[o] = true
				}
				r.looked()
				return
			}
			switch class := act.Judge(err).Class; {
			case r.live != nil:
				r.suspend(err)
			case class == act.Stopped:
			case class == act.Fatal:
				r.fatal = err
			default:
				r.listBy(time.Now().Add(r.listPause))
			}
		}
	})
}

// rest returns when the loop has to go on without a post; over: there is nothing left to do.
func (r *run) rest() (next time.Time, over bool) {
	now := time.Now()
	by := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	over = r.inFlight <= r.idle
	hopes := false
	for o := range r.waiting {
		switch {
		case o.phase == done || o.busy():
			delete(r.waiting, o)
		case !o.wait.retry.IsZero() && !o.wait.retry.After(now):
			r.retry(o)
			over = false
		case r.live == nil && r.stuck(o, now):
			hopes = hopes || o.wait.reason == model.WaitRollout
		default:
			over = false
			if r.live == nil {
				by(o.wait.since.Add(r.opts.Patience))
			}
			if !o.wait.retry.IsZero() {
				by(o.wait.retry)
			}
		}
	}
	if r.live != nil {
		over = false
		r.readMore(now, by)
	}
	over = over && !(hopes && r.opts.Party.rests())
	if over || len(r.due) > 0 && r.able() {
		return now, over
	}
	if r.live != nil {
		r.keepWatch(now, by)
	}
	r.overdue(now, by)
	if !r.listDue.IsZero() && !r.listing {
		if !r.listDue.After(now) {
			r.list()
		} else {
			by(r.listDue)
		}
	}
	return next, false
}

// retry plans an object again when its pause after a failure is over.
func (r *run) retry(o *object) {
	if f, failed := r.failure(o); failed && f.Hard {
		r.retryAll(o)
	}
	o.wait.retry = time.Time{}
	r.due[o] = true
}

// stuck reports whether waiting for an object any longer makes no sense.
func (r *run) stuck(o *object, now time.Time) bool {
	if f, failed := r.failure(o); failed && f.Hard {
		return true
	}
	patient := o.wait.reason.Passes() || o.wait.reason == model.WaitPlace && r.e.nodesAway()
	return !patient || now.Sub(o.wait.since) >= r.opts.Patience
}

// nodesAway reports whether a node may come back and make room.
func (e *Engine) nodesAway() (away bool) {
	e.observer.View(func(have *model.Observed) {
		for _, n := range have.Nodes {
			away = away || !n.Online
		}
	})
	return away
}
