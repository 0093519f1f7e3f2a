package progress

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Job is an action on a machine that a person requests.
type Job struct {
	Name string // of the machine
	What string // "start VM 101"
	Done string // "running"
	Do   func(context.Context) error
}

func (j Job) owner() model.Owner {
	return model.Owner{Key: model.Key{Kind: "VirtualMachine", Name: j.Name}}
}

// Work runs jobs concurrently and shows their progress. Failures are reported when all are
// done.
func Work(ctx context.Context, u *ui.UI, jobs ...Job) error {
	var names plan.Plan
	for _, j := range jobs {
		names.Objects = append(names.Objects, plan.Object{Owner: j.owner(), Steps: []plan.Step{{What: j.What}}})
	}
	show, stood := New(u, "", names), NewStanding(names)
	tell := func(e engine.Event) {
		stood.Event(e)
		show.Event(e)
	}
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() {
			event := engine.Event{Owner: j.owner(), Kind: engine.Started, Step: j.What, Time: time.Now()}
			tell(event)
			switch errs[i] = j.Do(ctx); {
			case errs[i] == nil:
				event.Kind, event.Time = engine.Done, time.Now()
				stood.Event(event)
				event.Kind, event.Text = engine.Ready, j.Done
				tell(event)
			case ctx.Err() == nil:
				event.Kind, event.Text = engine.Failed, errs[i].Error()
				stood.Event(event) // it is reported when the others are done
			}
		})
	}
	all.Wait()
	show.End()
	if ctx.Err() != nil {
		return ui.Interrupted(u, stood.Lines()...)
	}
	var failed []error
	for i, err := range errs {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", jobs[i].What, err))
		}
	}
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		u.Complain(err)
	}
	return &ui.ExitError{Code: ui.ExitFailed}
}
