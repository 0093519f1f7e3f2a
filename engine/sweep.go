package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
)

// Sweep is the action of events about what Proxmox has left.
const Sweep = "Sweep"

// sweep removes what a task has left of a guest that isn't there. It tries for a
// while, since mostly a lock is in the way; then a person is told what to remove.
func (r *run) sweep(left *act.Left, patience time.Duration) (removed []string, err error) {
	if left == nil {
		return nil, nil
	}
	begun, pause := time.Now(), firstPause
	for {
		done, err := r.e.actor.Sweep(r.ctx, *left)
		removed = append(removed, done...)
		if err == nil || r.ctx.Err() != nil || act.Judge(err).Class >= act.Hard || time.Since(begun) > patience {
			return removed, err
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, lastList)
		case <-r.ctx.Done():
			return removed, err
		}
	}
}

// swept tells what was removed, or is left.
func (r *run) swept(o *object, what string, left *act.Left, removed []string, err error) {
	if len(removed) > 0 {
		r.emit(o, Event{Kind: Done, Action: Sweep, Step: "remove " + strings.Join(removed, ", "), Text: "Proxmox had left it when it was to go"})
	}
	switch {
	case err == nil:
	case r.ctx.Err() != nil:
		left.Volumes = slices.DeleteFunc(slices.Clone(left.Volumes), func(v string) bool { return slices.Contains(removed, v) })
		r.emit(o, Event{Kind: Failed, Action: Sweep, Step: what, Text: "stopped before what Proxmox has left was removed: " + left.String(), Hint: model.Advice{Text: "remove it by hand"}})
	default:
		r.emit(o, Event{Kind: Failed, Action: Sweep, Step: what, Text: fmt.Sprintf("Proxmox has left disks: %v", err), Hint: model.Advice{Text: "remove them by hand"}})
	}
}

// moves notes which task moves a disk, until somebody has seen its end: the run that has begun
// it may be over before.
func (e *Engine) moves(task string, action model.Action) {
	move, ok := action.(model.MoveDisk)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.memory.moves == nil {
		e.memory.moves = map[string]model.MoveDisk{}
	}
	e.memory.moves[task] = move
}

// moveBy is the move of a disk that a task does, if this process has begun it.
func (e *Engine) moveBy(task string) (model.MoveDisk, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	move, ok := e.memory.moves[task]
	return move, ok
}

// moved forgets the move when it is over.
func (e *Engine) moved(task string, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if over {
		delete(e.memory.moves, task)
	}
}
