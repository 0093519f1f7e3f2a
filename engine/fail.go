package engine

import (
	"errors"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// failed records that a step has failed. The state is read again in any case: a task may fail and
// have done its work all the same.
func (r *run) failed(o *object, s plan.Step, err error) {
	r.e.observer.Doubt(s.Action)
	f := act.Judge(err)
	var unclaimed *claimError
	switch {
	case r.ctx.Err() != nil:
		f.Class = act.Stopped
	case errors.As(err, &unclaimed):
		f.Class = act.Away // nothing was done, and it is nothing of Proxmox'
	}
	task := o.task
	o.task = ""
	if f.Class == act.Lost || f.Class == act.Stopped {
		r.e.observer.Lost(s.Action)
		r.e.mu.Lock()
		r.e.memory.lose(o.owner, s, time.Now())
		r.e.mu.Unlock()
	}
	switch f.Class {
	case act.Stopped:
		return
	case act.Fatal:
		r.fatal = err
		return
	}
	listed := model.FactsOf(s.Action).Listed
	if f.Class == act.Lost || f.Class == act.Passing || listed {
		r.listSoon()
	}
	if f.Ignored {
		r.e.ignored(o.part.standing, o.owner.Key)
	}
	r.stepFailed(o, s, task, f, f.Class == act.Lost || listed)
	r.doubtMachine(o)
}

// noteFailure records a failure of an object. Its next plan waits until it may be retried.
func (r *run) noteFailure(o *object, what string, f act.Failure) {
	r.stepFailed(o, plan.Step{What: what}, "", f, false)
}

// stepFailed records that a step failed; lost: it isn't retried before the lists were read
// again.
func (r *run) stepFailed(o *object, s plan.Step, task string, f act.Failure, lost bool) {
	r.e.mu.Lock()
	noted := r.e.memory.fail(o.part.standing, o.owner.Key, s.What, f, lost, time.Now())
	r.e.mu.Unlock()
	e := Event{Kind: Failed, Step: s.What, Text: f.Text, Hint: f.Hint, Task: task, Final: noted.Hard}
	if s.Action != nil {
		e.Action = kindOf(s.Action)
	}
	r.emit(o, e)
}

// failure returns the last failure of an object.
func (r *run) failure(o *object) (model.Failure, bool) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	f, ok := o.part.standing.failed[o.owner.Key]
	return f, ok
}

func (e *Engine) succeed(of *standing, key model.Key, what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of.succeed(key, what)
}

// retryAll forgets an object's failures, so that everything is retried at once.
func (r *run) retryAll(o *object) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	o.part.standing.retryAll(o.owner.Key)
}

// reconsider retries templates on nodes where they couldn't be made a while ago: an object of the
// part has no other node left.
func (r *run) reconsider(part *part) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	part.standing.reconsider(time.Now())
}
