package engine

import (
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// copies tells whether an action takes long and tells how far it is.
func copies(a model.Action) bool {
	switch a := a.(type) {
	case model.Clone:
		return a.Full
	case model.Create:
		for _, d := range a.Disks {
			if d.Import != "" {
				return true
			}
		}
	case model.Download, model.Migrate:
		return true
	}
	return false
}

// progressPeriod is how often a copy is asked how far it is.
const progressPeriod = 2 * time.Second

// watchProgress tells how far a copy is, until stop.
func (r *run) watchProgress(o *object, s plan.Step, task string) (stop func()) {
	if !r.opts.Progress || !copies(s.Action) {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		for last := -1.0; ; {
			select {
			case <-done:
				return
			case <-time.After(progressPeriod):
			}
			f, err := r.tasks.Progress(r.ctx, task)
			if err != nil || f < 0 || f == last {
				continue
			}
			last = f
			r.post(func() {
				if o.busy > 0 {
					r.emit(o, Event{Kind: Progress, Step: s.What, Task: task, Fraction: f})
				}
			})
		}
	}()
	return func() { close(done) }
}
