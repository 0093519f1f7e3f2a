package site

import (
	"context"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Plan returns the plan for a wanted state: each step with its reason and its effect. Nothing is
// changed. All configs that matter are read, so that changes by hand show. With the result of
// [Site.Desired] it shows the drift of this caller's machines.
func (s *Site) Plan(ctx context.Context, want model.Desired) (plan.Plan, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		return session.Plan(ctx, want)
	}
	return s.cluster.engine.Plan(ctx, want)
}

// PlanAsOf plans like [Site.Plan] with a picture: what earlier plans have read for it isn't read again. It is for
// plans of many objects one after another, where not all configs have to be read.
func (s *Site) PlanAsOf(ctx context.Context, want model.Desired, pic *engine.Picture) (plan.Plan, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		return session.PlanAsOf(ctx, want, pic)
	}
	return s.cluster.engine.PlanAsOf(ctx, want, pic)
}

// Together is the part of one of several sites in a common plan.
type Together struct {
	Site *Site
	Name string // for people
	Want model.Desired
}

// PlanTogether plans for several sites together, with what was read since a time. Rollout limits count the
// machines of all sites, so that each plan says which of the others are restarted or replaced first. Errors have
// the index of their site.
func PlanTogether(ctx context.Context, all []Together, since time.Time) (plans []plan.Plan, at int, err error) {
	list := make([]engine.Together, len(all))
	for i, one := range all {
		list[i] = engine.Together{Engine: one.Site.cluster.engine, Name: one.Name, Want: one.Want}
	}
	return engine.PlanTogether(ctx, list, since)
}

// Replan plans like [Site.Plan], for repeated calls: it reuses configs that were read before, unless
// lists show that they may have changed.
func (s *Site) Replan(ctx context.Context, want model.Desired) (plan.Plan, error) {
	return s.cluster.engine.Replan(ctx, want)
}

// Heard returns a plan with the answers of guest agents so far. It sends no request.
func (s *Site) Heard(p plan.Plan, want model.Desired) plan.Plan {
	return s.cluster.engine.Heard(p, want)
}

// Learn reads what a plan from [observe.Observer.Snapshot] needs.
func (s *Site) Learn(ctx context.Context, l plan.Look) error { return s.cluster.engine.Learn(ctx, l) }

// ByHand returns a Hand for single actions that a person requests, until ctx ends.
func (s *Site) ByHand(ctx context.Context) *engine.Hand { return s.cluster.engine.ByHand(ctx) }

// LeftOn finds disks on a node that destructions of any machines have left since a time, and that no
// guest uses. People have to decide about them.
func (s *Site) LeftOn(ctx context.Context, node string, since time.Time) ([]model.Left, error) {
	return leftover.On(ctx, s.cluster.client, node, since)
}

// Attend joins a budget for a later Apply, so that all members of the budget together restart or replace no
// more machines at once than each allows. All members attend before one applies, in the order of their
// turns, see [engine.Party.Queue].
func (s *Site) Attend(b *engine.Budget, name string, want model.Desired) *engine.Party {
	return s.cluster.engine.Attend(b, name, want)
}

// Apply reconciles a wanted state until it is up to date, or nothing more can be done, or ctx
// ends, and reports the outcome of each object. Nothing is reconciled after it returns: it is for
// commands that end. Two objects with one key are refused, see [ErrSameKey].
func (s *Site) Apply(ctx context.Context, want model.Desired, opts engine.Options) (engine.Report, error) {
	return s.cluster.engine.Converge(ctx, want, opts)
}
