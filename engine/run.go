package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// run is one convergence. All decisions are made in one goroutine, the loop; calls to Proxmox are
// made in others, which post their results to the loop.
type run struct {
	e     *Engine
	ctx   context.Context
	calls context.Context // of calls that change something
	live  *live           // nil: it ends when all is up to date
	opts  Options
	tasks *act.Tasks
	begun time.Time

	parts    []*part // what each of those who want something wants
	order    []*object
	due      map[*object]bool  // to be planned again
	waiting  map[*object]bool  // nothing can be done for them now
	leaving  map[*object]bool  // nobody wants them any more, and calls for them may be in flight
	guests   map[int]*object   // who works on a guest
	blocked  map[int][]*object // who waits to work on it
	queue    []*object         // who waits for one of the places of Options.Parallel
	active   int               // objects that are being worked on
	reads    map[string]*reading
	follows  map[string][]*object // tasks that aren't of this run
	inFlight int                  // calls and tasks under way
	idle     int                  // of these, such that are no work of ours: questions, lists, others' tasks

	listing   bool
	listDue   time.Time // zero: nobody needs one
	listLast  time.Time // when one is needed if somebody still waits then for what this run makes
	listPause time.Duration

	fatal   error
	copying atomic.Int64 // copies that are asked how far they are

	mu     sync.Mutex
	posted []func()
	wake   chan struct{}
}

func (e *Engine) newRun(ctx context.Context, want model.Desired, opts Options) *run {
	r := &run{
		e: e, ctx: ctx, calls: ctx, opts: opts.withDefaults(), tasks: e.actor.Watch(ctx), begun: time.Now(),
		due: map[*object]bool{}, guests: map[int]*object{}, blocked: map[int][]*object{},
		waiting: map[*object]bool{}, leaving: map[*object]bool{}, reads: map[string]*reading{}, follows: map[string][]*object{},
		wake: make(chan struct{}, 1), listPause: firstList,
	}
	r.parts = []*part{{opts: r.opts, want: plan.NewWanted(e.seal(want)), objects: map[model.Key]*object{}, standing: e.standingOf(opts.Party)}}
	return r
}

// Converge reconciles until everything is up to date, or nothing more can be done, or ctx
// ends. The report has the outcome of each object. The error is nil unless it had to stop:
// because ctx ended, or because nothing can be done at all.
func (e *Engine) Converge(ctx context.Context, want model.Desired, opts Options) (Report, error) {
	if err := distinct(want); err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := e.newRun(ctx, want, opts)
	r.enter(r.parts[0])
	defer r.exit()
	if err := e.observer.Refresh(ctx, 0); err != nil {
		return r.report(), err
	}
	r.begin()
	err := r.loop()
	r.nameLeft()
	r.lookBack()
	cancel(err)
	r.awaitCalls()
	return r.report(), err
}

// begin plans everything once, so that each planned object has an object in the run.
func (r *run) begin() {
	for _, part := range r.parts {
		for _, p := range r.e.plan(part.want.All(), part.standing).Objects {
			r.add(part, p)
			r.retryAll(part.objects[p.Owner.Key]) // somebody has asked for it anew
		}
	}
}

// add adds an object to the run, and plans it.
func (r *run) add(part *part, p plan.Object) {
	if part.objects[p.Owner.Key] != nil || p.Owner.Key == model.Leftovers && !r.cleans(part) {
		return
	}
	o := &object{n: len(r.order), part: part, owner: p.Owner}
	part.want.LeftOver(p)
	part.objects[p.Owner.Key] = o
	part.order, r.order = append(part.order, o), append(r.order, o)
	r.due[o] = true
}

// loop plans and starts steps until nothing is left to do.
func (r *run) loop() error {
	for {
		r.drain()
		r.admit()
		switch {
		case r.ctx.Err() != nil:
			return context.Cause(r.ctx)
		case r.fatal != nil && r.live == nil:
			return r.fatal
		case r.fatal != nil:
			r.suspend(r.fatal)
			r.fatal = nil
		}
		if r.able() && len(r.due) > 0 {
			r.opts.Party.goesOn()
			r.turn()
			continue
		}
		next, over := r.rest()
		if over {
			return nil
		}
		r.sleep(next)
	}
}

// able reports whether Proxmox can be worked on at present.
func (r *run) able() bool { return r.live == nil || r.live.trouble == nil }

// sleep waits until something is posted, the time has come, or the context has ended.
func (r *run) sleep(next time.Time) {
	var timer <-chan time.Time
	if !next.IsZero() {
		t := time.NewTimer(time.Until(next))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-r.wake:
	case <-timer:
	case <-r.ctx.Done():
	}
}

// post queues a function for the loop. It may be called from any goroutine.
func (r *run) post(fn func()) {
	r.mu.Lock()
	r.posted = append(r.posted, fn)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// drain calls the posted functions.
func (r *run) drain() {
	for {
		r.mu.Lock()
		posted := r.posted
		r.posted = nil
		r.mu.Unlock()
		if len(posted) == 0 {
			return
		}
		for _, fn := range posted {
			fn()
		}
	}
}

// call calls ask in a goroutine of its own; the loop calls the function that it returns.
func (r *run) call(ask func() (then func())) {
	r.inFlight++
	go func() {
		then := ask()
		r.post(func() {
			r.inFlight--
			then()
		})
	}()
}

// callIdle is call for what doesn't count as work: a run may end meanwhile.
func (r *run) callIdle(ask func() (then func())) {
	r.idle++
	r.call(func() func() {
		then := ask()
		return func() {
			r.idle--
			then()
		}
	})
}

// awaitCalls waits for the calls that are still in flight. Their results still count for the report.
func (r *run) awaitCalls() {
	for r.inFlight > 0 {
		r.drain()
		if r.inFlight > 0 {
			<-r.wake
		}
	}
}

func (r *run) report() Report {
	rep := Report{Took: time.Since(r.begun)}
	for _, o := range r.order {
		if o.passing() && o.phase == done && (o.plan.Gone || o.owner.Key == model.Leftovers) {
			continue // nobody has wanted it: it matters only if it couldn't be done
		}
		rep.Objects = append(rep.Objects, r.outcome(o))
	}
	return rep
}

func (r *run) emit(o *object, e Event) {
	if e.Kind != Ready {
		o.phase = o.phase.reported()
	}
	e.Time, e.Owner, e.VMID, e.Node = time.Now(), o.owner, o.plan.VMID, o.plan.Node
	if o.part != nil {
		o.part.opts.Events(e)
		return
	}
	for _, p := range r.parts { // it is nobody's in particular
		p.opts.Events(e)
	}
}
