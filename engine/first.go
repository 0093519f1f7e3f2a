package engine

import (
	"time"

	"github.com/proxplane/proxplane/model"
)

// A session that begins knows of its guests what the lists show, and has to read the config of
// each and ask its agent before it can say how it is. All of that at once would be a burst of
// thousands of requests. So it begins with those that the lists show something to do for; the
// others follow bit by bit, and no event reports them before.

const (
	// firstAtOnce is how many objects are read at once that there seems to be nothing to do for.
	firstAtOnce = 50
	// firstShare is how many more follow in each firstPeriod.
	firstShare  = 5
	firstPeriod = time.Second
)

// later returns the objects to plan now. If many objects were never planned, those for which the
// lists show nothing to do are put off.
func (r *run) later(due []*object) (now []*object) {
	first := map[*part][]*object{}
	many := 0
	for _, o := range due {
		if o.phase == fresh {
			first[o.part] = append(first[o.part], o)
			many++
		}
		o.phase = o.phase.opened()
	}
	if r.live == nil || many <= firstAtOnce {
		return due
	}
	seem := map[*object]bool{}
	for p, list := range first {
		for _, o := range r.seemReady(p, list) {
			seem[o] = true
		}
	}
	places := firstAtOnce
	for _, o := range due {
		switch {
		case !seem[o]:
			now = append(now, o)
		case places > 0:
			places--
			now = append(now, o)
		default:
			o.phase = unread
			r.live.unread = append(r.live.unread, o)
			r.tell(o) // that Proxmox isn't away any more, if that was reported
		}
	}
	return now
}

// seemReady returns the objects for which the lists show nothing to do.
func (r *run) seemReady(p *part, list []*object) (ready []*object) {
	want := p.want.For(keysOf(list)...)
	want.Quick, want.Unheard = true, true
	planned := map[model.Key]bool{}
	for _, o := range r.e.plan(want, p.standing).Objects {
		planned[o.Owner.Key] = o.Ready() && o.VMID != 0 && !o.Gone
	}
	for _, o := range list {
		if planned[o.owner.Key] {
			ready = append(ready, o)
		}
	}
	return ready
}

// readMore plans some of the objects that were put off, and calls by with the time of the next
// ones.
func (r *run) readMore(now time.Time, by func(time.Time)) {
	if len(r.live.unread) == 0 || !r.able() {
		return
	}
	if !now.Before(r.live.more) {
		r.live.more = now.Add(firstPeriod)
		for n := 0; n < firstShare && len(r.live.unread) > 0; r.live.unread = r.live.unread[1:] {
			if o := r.live.unread[0]; o.phase == unread {
				r.due[o] = true
				n++
			}
		}
	}
	by(r.live.more)
}

// unknownAgain resets the objects that were put off, since Proxmox can't be asked.
func (r *run) unknownAgain() {
	for _, o := range r.live.unread {
		if o.phase == unread {
			o.phase = fresh
		}
	}
	r.live.unread = nil
}
