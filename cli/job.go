package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// job is something that is done to a machine by hand.
type job struct {
	name string // of the machine
	what string // "start VM 101"
	done string // "running"
	do   func(context.Context) error
}

func (j job) owner() model.Owner {
	return model.Owner{Key: model.Key{Kind: "VirtualMachine", Name: j.name}}
}

// work does jobs side by side and shows how they go. What failed is told after
// the others are done.
func work(ctx context.Context, u *ui, jobs ...job) error {
	var names plan.Plan
	for _, j := range jobs {
		names.Objects = append(names.Objects, plan.Object{Owner: j.owner(), Steps: []plan.Step{{What: j.what}}})
	}
	show := newProgress(u, "", names)
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() {
			event := engine.Event{Owner: j.owner(), Kind: engine.Started, Step: j.what, Time: time.Now()}
			show.event(event)
			if errs[i] = j.do(ctx); errs[i] == nil {
				event.Kind, event.Text, event.Time = engine.Ready, j.done, time.Now()
				show.event(event)
			}
		})
	}
	all.Wait()
	show.end()
	if ctx.Err() != nil {
		return interrupted(u)
	}
	var failed []error
	for i, err := range errs {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", jobs[i].what, err))
		}
	}
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		u.complain(err)
	}
	return &exitError{code: exitFailed}
}
