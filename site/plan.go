package site

import (
	"context"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Plan returns what would be done to have what is wanted: each step with its reason and its effect.
// Nothing is changed. All configs that matter are read, so that changes made by hand show. With
// what [Site.Desired] gives it shows how what this caller has differs from what it wants.
func (s *Site) Plan(ctx context.Context, want model.Desired) (plan.Plan, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		return session.Plan(ctx, want)
	}
	return s.cluster.engine.Plan(ctx, want)
}

// PlanAsOf is a Plan that relies on a picture: what was read for it by earlier plans isn't read again. It is for
// those who plan for many objects one after another, and says which configs needn't be read.
func (s *Site) PlanAsOf(ctx context.Context, want model.Desired, pic *engine.Picture) (plan.Plan, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		return session.PlanAsOf(ctx, want, pic)
	}
	return s.cluster.engine.PlanAsOf(ctx, want, pic)
}

// Together is what one person wants of one of several sites.
type Together struct {
	Site *Site
	Name string // for people
	Want model.Desired
}

// PlanTogether plans what one person wants of several sites, with what was read since a time. The
// machines of all count together, so that each plan says which of the others are restarted or replaced first. An
// error is of the one that is at this place.
func PlanTogether(ctx context.Context, all []Together, since time.Time) (plans []plan.Plan, at int, err error) {
	list := make([]engine.Together, len(all))
	for i, one := range all {
		list[i] = engine.Together{Engine: one.Site.cluster.engine, Name: one.Name, Want: one.Want}
	}
	return engine.PlanTogether(ctx, list, since)
}

// Replan is a Plan for those who look again and again: it relies on configs that were read
// before, unless lists show that they may have changed.
func (s *Site) Replan(ctx context.Context, want model.Desired) (plan.Plan, error) {
	return s.cluster.engine.Replan(ctx, want)
}

// Heard is a plan with what guest agents have answered by now. It asks nobody.
func (s *Site) Heard(p plan.Plan, want model.Desired) plan.Plan {
	return s.cluster.engine.Heard(p, want)
}

// Learn reads what a plan that somebody makes by [observe.Observer.Snapshot] needs to know.
func (s *Site) Learn(ctx context.Context, l plan.Look) error { return s.cluster.engine.Learn(ctx, l) }

// ByHand does single actions that somebody asks for and no manifest, until ctx ends.
func (s *Site) ByHand(ctx context.Context) *engine.Hand { return s.cluster.engine.ByHand(ctx) }

// LeftOn finds what destructions of anybody's machines have left on a node since a time, and no guest
// uses. It is for people to judge.
func (s *Site) LeftOn(ctx context.Context, node string, since time.Time) ([]model.Left, error) {
	return leftover.On(ctx, s.cluster.client, node, since)
}

// Attend joins a budget for what is wanted of Apply, so that of all who share the budget no more
// machines are restarted or replaced at once than each says. All attend before one applies, in the order in
// which [engine.Party.Queue] has them take turns.
func (s *Site) Attend(b *engine.Budget, name string, want model.Desired) *engine.Party {
	return s.cluster.engine.Attend(b, name, want)
}

// Apply works on what is wanted until it is so, or nothing more can be done, or ctx ends, and
// tells how far each object has come. Nothing is looked after when it returns. It is for commands
// that end; what goes on is put or wanted. Two objects with one key are refused, see [ErrSameKey].
func (s *Site) Apply(ctx context.Context, want model.Desired, opts engine.Options) (engine.Report, error) {
	return s.cluster.engine.Converge(ctx, want, opts)
}
