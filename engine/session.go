package engine

import (
	"context"
	"reflect"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Session keeps reconciling while the wanted state changes. It continues when Proxmox can't
// be reached, and after failures.
//
// Several callers may share one, see [Session.Join].
type Session struct {
	r     *run
	part  *part
	ended chan struct{}
}

// Serve starts a session that runs until ctx ends. Nothing is wanted yet.
func (e *Engine) Serve(ctx context.Context, opts Options) *Session {
	s := &Session{r: e.newRun(ctx, model.Desired{}, opts), ended: make(chan struct{})}
	s.part = s.r.parts[0]
	s.part.done = make(chan struct{})
	calls, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	s.r.calls = calls
	s.r.live = &live{trouble: &trouble{err: errNotLooked, since: time.Now()}}
	s.r.listBy(time.Now())
	s.r.enter(s.part)
	go func() {
		defer close(s.ended)
		defer s.r.exit()
		_ = s.r.loop() // it ends with ctx
		last := time.AfterFunc(lastCalls, func() { cut(context.Cause(ctx)) })
		defer last.Stop()
		s.r.awaitCalls()
		cut(nil)
	}()
	return s
}

// lastCalls is how long calls that change something may still take when a session
// ends: the answers say what became of them.
const lastCalls = 10 * time.Second

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.ended }

// Want sets the wanted state. Objects that aren't in it any more stay as they are: objects
// to remove must be marked as such. versions, which may be nil, are the generations of
// objects; outcomes repeat them.
func (s *Session) Want(want model.Desired, versions map[model.Key]int64) {
	s.Update(func() (model.Desired, map[model.Key]int64) { return want, versions })
}

// Update does the same with a function that returns the wanted state when the session is
// ready for it, so that of many changes at once only the last one is planned.
func (s *Session) Update(latest func() (model.Desired, map[model.Key]int64)) {
	s.r.post(func() {
		if !s.part.left {
			want, versions := latest()
			s.r.rewant(s.part, want, versions)
		}
	})
}

// Plan plans like [Engine.Plan], with the failures of this caller's own objects.
func (s *Session) Plan(ctx context.Context, want model.Desired) (plan.Plan, error) {
	return s.r.e.planSince(ctx, want, whole(time.Now()), s.part.standing)
}

// PlanAsOf plans like [Engine.PlanAsOf], with the failures of this caller's own objects.
func (s *Session) PlanAsOf(ctx context.Context, want model.Desired, pic *Picture) (plan.Plan, error) {
	return s.r.e.planAsOf(ctx, want, pic, s.part.standing)
}

// Touches reports whether the session may still change something for the object with
// that UID: it is wanted, or it was and calls for it are in flight. What was said by
// Want before counts.
func (s *Session) Touches(uid string) bool {
	answer := make(chan bool, 1)
	s.r.post(func() { answer <- s.r.touches(s.part, uid) })
	select {
	case touches := <-answer:
		return touches
	case <-s.ended:
		return false
	}
}

func (r *run) touches(p *part, uid string) bool {
	for _, o := range p.order {
		if o.owner.UID == uid {
			return true
		}
	}
	for o := range r.leaving {
		if o.part == p && o.owner.UID == uid {
			return true
		}
	}
	return false
}

// Look requests that the session observes everything now, since it may have changed.
func (s *Session) Look() {
	s.r.post(func() {
		s.r.live.next = time.Time{}
		s.r.listBy(time.Now())
	})
}

// Recheck compares one object with Proxmox again, since it may have changed. It reads only facts that are in doubt.
func (s *Session) Recheck(owner model.Owner) {
	s.r.post(func() {
		if o := s.part.objects[owner.Key]; o != nil && o.owner == owner {
			o.phase = o.phase.doubted()
			s.r.due[o] = true
		}
	})
}

// rewant replaces the wanted state of a part. Objects that are wanted as before aren't touched.
func (r *run) rewant(p *part, want model.Desired, versions map[model.Key]int64) {
	was := p.want
	want = r.e.seal(want)
	was.KeepCopies(&want)
	p.want = plan.NewWanted(want)
	before := p.objects
	p.objects, p.order = make(map[model.Key]*object, len(before)), nil
	each(want, func(owner model.Owner) {
		o := before[owner.Key]
		switch {
		case o != nil && o.owner == owner:
			delete(before, owner.Key)
			p.objects[owner.Key], p.order = o, append(p.order, o)
			if !same(was, p.want, owner.Key) {
				r.renew(o)
				r.wakeUsers(o)
			}
		default:
			r.add(p, plan.Object{Owner: owner})
		}
		p.objects[owner.Key].version = versions[owner.Key]
	})
	for _, o := range before {
		r.drop(o)
	}
	r.reorder()
	for _, o := range p.order {
		r.tell(o)
	}
}

// reorder puts the objects of all parts into one order.
func (r *run) reorder() {
	r.order = nil
	for _, p := range r.parts {
		for _, o := range p.order {
			o.n = len(r.order)
			r.order = append(r.order, o)
		}
	}
}

// each calls do with the owner of each object, in the order in which they are planned. Groups aren't
// among them: they get objects when there is something to do for them.
func each(want model.Desired, do func(model.Owner)) {
	for i := range want.Images {
		if !want.Images[i].Lent {
			do(want.Images[i].Object())
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
		old.Remembered, vm.Remembered, old.Had, vm.Had = 0, 0, nil, nil
		return known && reflect.DeepEqual(old, vm)
	}
	old, known := was.Snapshot(key)
	snapshot, _ := is.Snapshot(key)
	return known && old == snapshot
}

// renew plans an object anew; what failed is retried at once.
func (r *run) renew(o *object) {
	o.phase, o.onward = o.phase.renewed(), outdated
	o.again = nil
	r.retryAll(o)
	r.due[o] = true
}

// drop removes an object from the run. Calls that are in flight for it end by themselves, and no
// further ones are made.
func (r *run) drop(o *object) {
	o.phase, o.onward = dropped, outdated
	if o.busy() {
		r.leaving[o] = true
	}
	delete(r.due, o)
	delete(r.waiting, o)
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	o.part.standing.retryAll(o.owner.Key)
	delete(o.part.standing.bound, o.owner.Key)
	r.e.memory.displace(o.owner)
	delete(r.e.memory.kept, o.owner)
	o.part.standing.unroll(o.owner.Key)
}
