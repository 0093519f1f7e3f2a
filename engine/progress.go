package engine

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// copies reports whether an action copies data, so that its task reports progress.
func copies(a model.Action) bool {
	switch a := a.(type) {
	case model.Clone:
		return a.Full
	case model.Create:
		return slices.ContainsFunc(a.Disks, func(d model.NewDisk) bool { return d.Import != "" })
	}
	return model.FactsOf(a).Copies
}

// The progress of a copy is polled once in a period, which is longer while there are many
// copies.
const (
	progressPeriod = 2 * time.Second
	progressMany   = 8
)

// passing returns a function that reports the progress of an action which passes data through this process, in whole percents.
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

// watchProgress reports the progress of a copy until stop is called.
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
