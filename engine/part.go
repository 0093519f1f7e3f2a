package engine

import (
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// part is the wanted state of one caller of a session. Each part is planned separately: no
// rule of one counts the objects of another, and equal names in two parts are different
// objects. The observed state, and guests that are being created, are shared.
type part struct {
	opts     Options // but for what holds for the run: Parallel, Patience, Progress
	want     *plan.Wanted
	objects  map[model.Key]*object
	order    []*object
	standing *standing

	calls int           // that change something, and are in flight
	left  bool          // nobody wants anything of it any more
	done  chan struct{} // closed when it has left and no calls are in flight; nil: it never leaves alone
}

// Join adds another caller to the same run: the objects of all callers are observed with
// the same requests. Parallel, Patience and Progress in opts are ignored. The new session
// ends with the first one, or by [Session.Leave].
func (s *Session) Join(opts Options) *Session {
	p := &part{opts: opts.withDefaults(), want: plan.NewWanted(model.Desired{}), objects: map[model.Key]*object{}, standing: newStanding(), done: make(chan struct{})}
	s.r.e.mu.Lock()
	s.r.e.memory.all[p.standing] = true
	s.r.e.mu.Unlock()
	s.r.enter(p)
	s.r.post(func() { s.r.join(p) })
	return &Session{r: s.r, part: p, ended: s.ended}
}

func (r *run) join(p *part) {
	r.parts = append(r.parts, p)
	switch t := r.live.trouble; {
	case t.early():
	case t != nil:
		r.reportTo(p)
	case p.opts.Looked != nil:
		p.opts.Looked()
	}
}

// Leave removes a caller: everything stays as it is in Proxmox, and no new request is made
// for it. The returned channel is closed when no request is in flight either.
func (s *Session) Leave() <-chan struct{} {
	s.r.post(func() { s.r.leave(s.part) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.part.done:
		case <-s.ended:
		}
	}()
	return done
}

func (r *run) leave(p *part) {
	if p.left {
		return
	}
	p.opts.Party.exit(p)
	r.rewant(p, model.Desired{}, nil)
	p.left = true
	kept := make([]*part, 0, len(r.parts))
	for _, other := range r.parts {
		if other != p {
			kept = append(kept, other)
		}
	}
	r.parts = kept
	if p.standing != r.e.memory.alone {
		r.e.mu.Lock()
		delete(r.e.memory.all, p.standing)
		r.e.mu.Unlock()
	}
	r.released(p)
}

// called records that a call of a part has ended.
func (r *run) called(p *part) {
	p.calls--
	r.released(p)
}

// released closes a part's done channel when its caller has left and nothing is in flight.
func (r *run) released(p *part) {
	if p.left && p.calls == 0 {
		select {
		case <-p.done:
		default:
			close(p.done)
		}
	}
}
