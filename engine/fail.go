package engine

import (
	"errors"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// failed notes that a step has failed. What is there now has to be looked at in
// any case: a task may fail and have done its work all the same.
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
}

// noteFailure notes a failure of an object. Its next plan waits until it may be tried
// again.
func (r *run) noteFailure(o *object, what string, f act.Failure) {
	r.stepFailed(o, plan.Step{What: what}, "", f, false)
}

// stepFailed notes that a step failed; lost: it isn't tried again before the lists
// were looked at.
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

// failure is what failed lately of an object.
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

// retryAll lets all that failed of an object be tried anew.
func (r *run) retryAll(o *object) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	o.part.standing.retryAll(o.owner.Key)
}

// reconsider lets templates be tried again on nodes where they couldn't be made a while ago: an
// object of the part has no other place left.
func (r *run) reconsider(part *part) {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	part.standing.reconsider(time.Now())
}
