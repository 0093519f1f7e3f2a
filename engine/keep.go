package engine

import (
	"context"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// restPeriod is how often Keep looks while nothing is to be done: with two lists
// and one config each time that is nine requests a minute, however many guests
// there are.
const restPeriod = 20 * time.Second

// Keep makes everything as wanted and keeps it so, until ctx ends. Its error says
// why it ended.
func (e *Engine) Keep(ctx context.Context, want model.Desired, opts Options) error {
	for {
		if _, err := e.Converge(ctx, want, opts); ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			if err := pause(ctx, restPeriod); err != nil {
				return err
			}
			continue
		}
		if err := e.guard(ctx, want); err != nil {
			return err
		}
		opts.listAge = restPeriod / 2
	}
}

// guard looks now and then, until there is something to do.
func (e *Engine) guard(ctx context.Context, want model.Desired) error {
	for {
		if err := pause(ctx, restPeriod); err != nil {
			return err
		}
		// Somebody may have changed a config in a way that the lists don't show:
		// one after the other is read again. What can't be read now can be later.
		_, _ = e.observer.Reread(ctx)
		if err := e.observer.Refresh(ctx, 0); err != nil {
			continue
		}
		if !quiet(e.plan(want)) {
			return nil
		}
	}
}

// quiet tells whether nothing is to be done. Addresses that aren't known are no
// reason to do something.
func quiet(p plan.Plan) bool {
	for _, o := range p.Objects {
		if o.Look.Agents = nil; !o.Ready() {
			return false
		}
	}
	return true
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
