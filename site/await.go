package site

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Until is a condition to wait for.
type Until func(Outcome) bool

// Ready waits until an object is up to date.
func Ready(o Outcome) bool { return o.State == engine.StateReady }

// Gone waits until nothing is left of an object.
func Gone(o Outcome) bool { return o.State == engine.StateGone }

// Running waits until a machine runs, even if there are more steps.
func Running(o Outcome) bool { return o.Status == model.StatusRunning }

// ErrNotWanted is the error of waiting for an object that wasn't put.
var ErrNotWanted = errors.New("nothing is wanted of it, so it won't change")

// AwaitError says why a wait has failed.
type AwaitError struct {
	Outcome Outcome // how it is
	Err     error   // why the wait ended; nil: waiting can't help
}

func (e *AwaitError) Error() string {
	text := e.Outcome.Text
	if text == "" {
		text = "nothing is known of it yet"
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %v: %s", e.Outcome.Owner.Key, e.Err, text)
	}
	return fmt.Sprintf("%s: %s", e.Outcome.Owner.Key, text)
}

func (e *AwaitError) Unwrap() error { return e.Err }

// Await waits until an object has a state, mostly [Ready] or [Gone]. It returns early if
// waiting can't help: a step failed for good or isn't allowed, or something is missing. The
// error is then an [*AwaitError], as when ctx ends, and has the reason. The site retries all
// the same.
func (s *Site) Await(ctx context.Context, owner model.Owner, until Until) (Outcome, error) {
	w := s.subscribe()
	defer s.unsubscribe(w)
	for {
		o, known, err := s.now(owner)
		switch {
		case err != nil:
			return o, fmt.Errorf("%s: %w", owner.Key, err)
		case !known:
			if o, err = s.unwanted(ctx, owner); err != nil || until(o) {
				return o, err
			}
			return o, fmt.Errorf("%s: %w", owner.Key, ErrNotWanted)
		case until(o):
			return o, nil
		case s.Stuck(o):
			return o, &AwaitError{Outcome: o}
		}
		for _, last := range w.take() {
			if last.Owner == owner && until(last) {
				return last, nil // and it isn't wanted any more, since it is gone
			}
		}
		select {
		case <-w.news:
		case <-ctx.Done():
			return o, &AwaitError{Outcome: o, Err: context.Cause(ctx)}
		}
	}
}

// now returns the present outcome of an object; known: the object was put or removed.
func (s *Site) now(owner model.Owner) (o Outcome, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Outcome{Owner: owner}, false, ErrClosed
	}
	if is, ok := s.want.owner(owner.Key); !ok || is != owner {
		return Outcome{Owner: owner}, false, nil
	}
	if o, seen := s.latest[owner.Key]; seen {
		return o, true, nil
	}
	o = Outcome{Owner: owner, State: engine.StateWaiting, Version: s.want.versions[owner.Key]}
	if s.trouble != nil {
		o.Wait, o.Text, o.Do, o.Since = s.trouble, s.trouble.Text, s.trouble.Do, s.since
	}
	return o, true, nil
}

// unwanted returns the outcome of an object that this caller has neither put nor removed.
func (s *Site) unwanted(ctx context.Context, owner model.Owner) (Outcome, error) {
	m, err := s.Read(ctx, owner)
	switch {
	case errors.Is(err, ErrNotFound):
		return Outcome{Owner: owner, State: engine.StateGone}, nil
	case err != nil:
		return Outcome{Owner: owner}, err
	}
	g := m.Guest
	return Outcome{Owner: owner, VMID: g.VMID, Node: g.Node, Status: g.Status, Addresses: g.Addresses, State: engine.StateWaiting}, nil
}

// Wants reports whether this caller has put or removed an object of the owner.
func (s *Site) Wants(owner model.Owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is, known := s.want.owner(owner.Key)
	return known && is == owner
}

// Stuck reports whether waiting can't help an object: a step failed for good or isn't allowed, or something is
// missing.
func (s *Site) Stuck(o Outcome) bool {
	switch o.State {
	case engine.StateFailed, engine.StateRefused:
		return true
	case engine.StateWaiting:
	default:
		return false
	}
	if o.Wait == nil {
		return false
	}
	if o.Wait.Reason == model.WaitSource {
		return s.sourceStuck(o.Owner.Key)
	}
	return plan.Object{Wait: o.Wait, Refused: o.Refused}.Blocked()
}

// sourceStuck reports whether waiting can't help the source that a machine is made from.
func (s *Site) sourceStuck(key model.Key) bool {
	s.mu.Lock()
	v := s.want.vms[key]
	source, seen := s.latest[v.Source.Image]
	if v.Source.VM != (model.Key{}) {
		source, seen = s.latest[v.Source.VM]
	}
	s.mu.Unlock()
	return seen && s.Stuck(source)
}

// Trouble returns why nothing can be done at present, and since when; nil: no trouble is
// known.
func (s *Site) Trouble() (*plan.Wait, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble, s.since
}

// Latest returns the last outcome of an object; known: the object was put or removed, and observed since.
func (s *Site) Latest(owner model.Owner) (o Outcome, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, known = s.latest[owner.Key]
	return o, known && o.Owner == owner
}
