package engine

import (
	"context"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
)

// Hand does actions that a person requests for a guest by its name: power, snapshots,
// adoption. The guest needn't be ours, so there is no plan. The caller has asked the person
// about losses.
type Hand struct {
	e     *Engine
	tasks *act.Tasks
}

// ByHand returns a Hand that works until ctx ends.
func (e *Engine) ByHand(ctx context.Context) *Hand {
	return &Hand{e: e, tasks: e.actor.Watch(ctx)}
}

// Do carries out an action on a guest, and waits for the end of its task. It refuses actions that aren't
// for people, see [model.Facts], and those whose VMID has another guest by now: by its name or, if its
// marker was read, by its owner.
func (h *Hand) Do(ctx context.Context, g *model.Guest, action model.Action) error {
	var known act.Known
	h.e.observer.View(func(have *model.Observed) { known = act.Know(action, have) })
	known.Node, known.ByHand, known.Owner = g.Node, g.Name, model.Owner{}
	if m := g.Marker(); m != nil && m.Of(g.VMID) {
		known.Owner = m.Owner
	}
	res, err := h.e.actor.Do(ctx, action, known)
	if err == nil && res.Task != "" {
		h.e.observer.TaskStarted(res.Task)
		_, err = h.tasks.Follow(res.Task)
	}
	h.e.observer.Doubt(action) // whatever came of it
	return err
}

// Exec runs a program in an owner's guest, and waits until it ends. The end of ctx ends the wait, not the
// program.
func (h *Hand) Exec(ctx context.Context, g *model.Guest, action model.Exec) (model.Ran, error) {
	res, err := h.e.actor.Do(ctx, action, act.Known{Node: g.Node, ByHand: g.Name})
	if err != nil {
		return model.Ran{}, err
	}
	return h.e.actor.Ran(ctx, action.Target, res.PID)
}

// ReadFile reads a file in an owner's guest; whole: the content is complete.
func (h *Hand) ReadFile(ctx context.Context, g *model.Guest, action model.ReadFile) (content []byte, whole bool, err error) {
	res, err := h.e.actor.Do(ctx, action, act.Known{Node: g.Node, ByHand: g.Name})
	return res.Content, !res.Cut, err
}
