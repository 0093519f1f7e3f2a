package engine

import (
	"context"
	"reflect"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Session makes things so and keeps them so, while what is wanted changes. It
// goes on when Proxmox is away, and when it has failed.
type Session struct {
	r    *run
	done chan struct{}
}

// Serve begins a session that lasts until ctx ends. Nothing is wanted yet.
func (e *Engine) Serve(ctx context.Context, opts Options) *Session {
	s := &Session{r: e.newRun(ctx, model.Desired{}, opts), done: make(chan struct{})}
	calls, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	s.r.calls = calls
	s.r.live = &live{trouble: &trouble{err: errNotLooked, since: time.Now()}}
	s.r.listBy(time.Now())
	go func() {
		defer close(s.done)
		_ = s.r.loop() // it ends with ctx
		last := time.AfterFunc(lastCalls, func() { cut(context.Cause(ctx)) })
		defer last.Stop()
		s.r.land()
		cut(nil)
	}()
	return s
}

// lastCalls is how long calls that change something may still take when a session
// ends: what comes back tells what became of them.
const lastCalls = 10 * time.Second

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Want says what is wanted from now on. What isn't named any more is left as it
// is: what is to go must be named as such. Versions, which may be nil, say which
// edition of each object it is; outcomes repeat them.
func (s *Session) Want(want model.Desired, versions map[model.Key]int64) {
	s.r.post(func() { s.r.rewant(want, versions) })
}

// Touches reports whether the session may still change something for the object with
// that UID: it is wanted, or it was and calls for it are in flight. What was said by
// Want before counts.
func (s *Session) Touches(uid string) bool {
	answer := make(chan bool, 1)
	s.r.post(func() { answer <- s.r.touches(uid) })
	select {
	case touches := <-answer:
		return touches
	case <-s.done:
		return false
	}
}

func (r *run) touches(uid string) bool {
	for _, o := range r.order {
		if o.owner.UID == uid {
			return true
		}
	}
	for o := range r.leaving {
		if o.owner.UID == uid {
			return true
		}
	}
	return false
}

// Look has the session look at everything now, since something may be otherwise
// than it seems.
func (s *Session) Look() {
	s.r.post(func() {
		s.r.live.next = time.Time{}
		s.r.listBy(time.Now())
	})
}

// rewant takes over what is wanted now. What is the same as before isn't touched.
func (r *run) rewant(want model.Desired, versions map[model.Key]int64) {
	was := r.want
	want = r.e.seal(want)
	r.want = plan.NewWanted(want)
	before := r.objects
	r.objects, r.order = make(map[model.Key]*object, len(before)), nil
	each(want, func(owner model.Owner) {
		o := before[owner.Key]
		switch {
		case o != nil && o.owner == owner:
			delete(before, owner.Key)
			o.n = len(r.order)
			r.objects[owner.Key], r.order = o, append(r.order, o)
			if !same(was, r.want, owner.Key) {
				r.renew(o)
				r.wakeUsers(o)
			}
		default:
			r.add(plan.Object{Owner: owner})
		}
		r.objects[owner.Key].version = versions[owner.Key]
	})
	for _, o := range before {
		r.drop(o)
	}
	r.tellAll()
}

// each names all objects, in the order in which they are planned. Groups aren't among
// them: what stands for several guests is found when there is something to do for it.
func each(want model.Desired, do func(model.Owner)) {
	for i := range want.Images {
		if !want.Images[i].Lent {
			do(want.Images[i].Owner)
		}
	}
	for i := range want.Shares {
		do(want.Shares[i].Owner)
	}
	for i := range want.VMs {
		do(want.VMs[i].Owner)
	}
	for i := range want.Snapshots {
		do(want.Snapshots[i].Owner)
	}
}

// same reports whether the same is wanted of an object as before.
func same(was, is *plan.Wanted, key model.Key) bool {
	if image, ok := is.Image(key); ok {
		old, known := was.Image(key)
		return known && reflect.DeepEqual(old, image)
	}
	if share, ok := is.Share(key); ok {
		old, known := was.Share(key)
		return known && reflect.DeepEqual(old, share)
	}
	if vm, ok := is.VM(key); ok {
		old, known := was.VM(key)
		old.Remembered, vm.Remembered = 0, 0
		return known && reflect.DeepEqual(old, vm)
	}
	old, known := was.Snapshot(key)
	snapshot, _ := is.Snapshot(key)
	return known && old == snapshot
}

// renew plans an object anew, with what failed forgiven.
func (r *run) renew(o *object) {
	o.done, o.told, o.settled, o.stale = false, false, false, true
	o.again = nil
	r.e.forgive(o.owner.Key)
	r.due[o] = true
}

// drop stops looking after an object. Calls that are in flight for it end by
// themselves, and nothing follows them.
func (r *run) drop(o *object) {
	o.dropped, o.stale = true, true
	if o.busy > 0 {
		r.leaving[o] = true
	}
	delete(r.due, o)
	delete(r.waiting, o)
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	r.e.memory.forgive(o.owner.Key)
	r.e.memory.displace(o.owner)
	delete(r.e.memory.rolling, o.owner.Key)
}
