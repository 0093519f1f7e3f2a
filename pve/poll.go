package pve

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// look is what was seen of a task.
type look struct {
	ended      bool
	exitStatus string
	gone       error // why its end will never be known
}

// poll looks at tasks of the node with one list call. Tasks that the list doesn't show, because
// so many others are newer or because it can't be read, are asked for one by one. The error
// says that the node can't be asked now; what was seen all the same is in looks.
func (n Node) poll(ctx context.Context, tasks []UPID) (looks map[UPID]look, err error) {
	looks = make(map[UPID]look, len(tasks))
	listed, err := n.listed(ctx, tasks)
	if err != nil && away(ctx, err) {
		return looks, err
	}
	for _, upid := range tasks {
		info, ok := listed[upid]
		switch {
		case ok && info.Running():
			looks[upid] = look{}
			continue
		case ok && info.Status != "":
			looks[upid] = look{ended: true, exitStatus: info.Status}
			continue
		}
		status, err := n.c.Task(upid).Status(ctx)
		switch {
		case err == nil:
			looks[upid] = look{ended: !status.Running(), exitStatus: status.ExitStatus}
		case away(ctx, err):
			return looks, err
		default:
			looks[upid] = look{gone: fmt.Errorf("task %s: %w", upid, err)}
		}
	}
	return looks, nil
}

// away says that nothing can be learnt about any task now. Credentials that don't work are
// likely to be replaced, so they are no reason to give up on a task.
func away(ctx context.Context, err error) bool {
	return passing(err) || errors.Is(err, ErrUnauthorized) || ctx.Err() != nil
}

// listed gets the list that should show these tasks. Running ones come first in it.
func (n Node) listed(ctx context.Context, tasks []UPID) (map[UPID]TaskInfo, error) {
	since := tasks[0].Start
	for _, upid := range tasks {
		since = min(since, upid.Start)
	}
	list, _, err := n.Tasks(ctx, TaskFilter{
		Source: "all", Since: time.Unix(since, 0), Limit: 2*len(tasks) + 50,
	})
	found := make(map[UPID]TaskInfo, len(list))
	for _, info := range list {
		found[info.UPID] = info
	}
	return found, err
}

// runningOf looks at tasks and says which of them still run.
func (n Node) runningOf(ctx context.Context, tasks []UPID) (map[UPID]bool, error) {
	looks, err := n.poll(ctx, tasks)
	running := map[UPID]bool{}
	for upid, l := range looks {
		if !l.ended && l.gone == nil {
			running[upid] = true
		}
	}
	return running, err
}
