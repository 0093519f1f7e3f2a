package engine

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// copies reports whether an action takes long and its task says how far it is.
func copies(a model.Action) bool {
	switch a := a.(type) {
	case model.Clone:
		return a.Full
	case model.Create:
		return slices.ContainsFunc(a.Disks, func(d model.NewDisk) bool { return d.Import != "" })
	}
	return model.FactsOf(a).Copies
}

// A copy is asked how far it is once in a period, which is longer while there are
// many.
const (
	progressPeriod = 2 * time.Second
	progressMany   = 8
)

// passing reports how far an action is that passes data through this process, by whole percents.
func (r *run) passing(o *object, s plan.Step) func(float64) {
	if !r.opts.Progress {
		return nil
	}
	var last atomic.Int32
	return func(part float64) {
		percent := int32(part * 100)
		if last.Swap(percent) == percent {
			return
		}
		r.post(func() {
			if o.busy() {
				r.emit(o, Event{Kind: Progress, Step: s.What, Fraction: part})
			}
		})
	}
}

// watchProgress reports how far a copy is, until stop.
func (r *run) watchProgress(o *object, s plan.Step, task string) (stop func()) {
	if !r.opts.Progress || !copies(s.Action) {
		return func() {}
	}
	done := make(chan struct{})
	r.copying.Add(1)
	go func() {
		defer r.copying.Add(-1)
		for last := -1.0; ; {
			select {
			case <-done:
				return
			case <-time.After(progressPeriod * time.Duration(1+r.copying.Load()/progressMany)):
			}
			f, err := r.tasks.Progress(r.ctx, task)
			if err != nil || f < 0 || f == last {
				continue
			}
			last = f
			r.post(func() {
				if o.busy() {
					r.emit(o, Event{Kind: Progress, Step: s.What, Task: task, Fraction: f})
				}
			})
		}
	}()
	return func() { close(done) }
}
