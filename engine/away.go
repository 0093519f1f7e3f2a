package engine

import (
	"context"
	"maps"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// enter counts the guests of a part together with those of the other parties of its budget.
func (r *run) enter(p *part) {
	r.e.mu.Lock()
	p.standing.party = p.opts.Party
	r.e.mu.Unlock()
	p.opts.Party.enter(r, p)
}

// exit ends what enter has begun, for all parts. Places of guests that aren't finished are free again: the next run chooses as any
// other process would.
func (r *run) exit() {
	r.e.mu.Lock()
	for _, o := range r.order {
		if o.phase != done {
			r.e.memory.displace(o.owner)
		}
	}
	r.e.mu.Unlock()
	for _, p := range r.parts {
		r.e.mu.Lock()
		maps.DeleteFunc(p.standing.rolling, func(_ model.Key, begun bool) bool { return !begun }) // it was only planned
		r.e.mu.Unlock()
		p.opts.Party.exit(p)
	}
}

// reply says which guests of a rollout group are unavailable, to another session that is
// about to restart or to replace one. It is called by the loop.
func (r *run) reply(part *part, group string, to chan<- []model.Absent) {
	p := part.opts.Party
	if !r.able() || len(part.want.All().VMs) == 0 {
		why := p.name + " hasn't been read yet"
		if !r.able() && !r.live.trouble.early() {
			why = p.name + ": " + r.live.trouble.wait().Text
		}
		to <- p.unknown(group, why)
		return
	}
	want := part.want.Group(group)
	r.callIdle(func() func() {
		ctx, cancel := context.WithTimeout(r.ctx, answerPatience)
		defer cancel()
		away, err := r.e.away(ctx, want, part.standing, group)
		if err != nil {
			away = p.unknown(group, p.name+": "+act.Judge(err).Text)
		}
		to <- away
		return func() {}
	})
}

// away returns the guests of a rollout group that are unavailable, as Proxmox shows it now, and
// those of which it doesn't show that.
func (e *Engine) away(ctx context.Context, want model.Desired, known *standing, group string) ([]model.Absent, error) {
	if err := e.observer.Refresh(ctx, countFor); err != nil {
		return nil, err
	}
	var away, unknown []model.Absent
	missing := func() (look plan.Look) {
		away, unknown, look = e.awayNow(want, known, group)
		return look
	}
	if err := untilKnown(missing, func(look plan.Look) error { return e.read(ctx, look) }); err != nil {
		missing()
		for i := range unknown {
			unknown[i].Unknown = act.Judge(err).Text
		}
	}
	return append(away, unknown...), nil
}

func (e *Engine) awayNow(want model.Desired, known *standing, group string) (away, unknown []model.Absent, look plan.Look) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observer.View(func(have *model.Observed) {
		have.Rolling = known.underWay()
		away, unknown, look = plan.Away(want, have, group)
	})
	return away, unknown, look
}
