package act

import (
	"context"
	"fmt"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// inside carries out an action inside of a guest, through its agent. The guest's owner is proved right before the
// request is sent, so that no other owner's files are read and no command runs in another owner's guest.
func (a *Actor) inside(ctx context.Context, action model.Action) (res Result, err error) {
	switch act := action.(type) {
	case model.Exec:
		prove := pve.Before(func(ctx context.Context, _ time.Duration) error { return a.mayReach(ctx, act.Target, act.Owner) })
		agent := a.client.With(prove).VM(act.Node, act.VMID).Agent()
		res.PID, err = agent.Exec(ctx, pve.ExecOptions{Command: act.Command, Input: pve.NewSecret(string(act.Input))})
	case model.ReadFile:
		if err = a.mayReach(ctx, act.Target, act.Owner); err != nil {
			break // reads have no last check of their own
		}
		var file pve.GuestFile
		file, err = a.client.VM(act.Node, act.VMID).Agent().ReadFile(ctx, act.File)
		res.Content, res.Cut = []byte(file.Content), file.Truncated
	default:
		err = fmt.Errorf("there is no call for %T", action)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", Words(action), err)
	}
	return res, nil
}

// mayReach reads the proof of a guest's owner once more.
func (a *Actor) mayReach(ctx context.Context, guest model.Target, owner model.Owner) error {
	if owner == (model.Owner{}) {
		return fmt.Errorf("no owner is expected: %w", ErrNotOurs)
	}
	now, err := a.client.VM(guest.Node, guest.VMID).Config(ctx, pve.ConfigOptions{Current: true})
	if err != nil {
		return fmt.Errorf("read whose it is: %w", err)
	}
	return proves(now.Settings["description"], owner, guest.VMID)
}

// Ran waits until a program that was started in a guest ends, and returns its result. The end of ctx
// ends the wait, not the program.
func (a *Actor) Ran(ctx context.Context, guest model.Target, pid int) (model.Ran, error) {
	end, err := a.client.VM(guest.Node, guest.VMID).Agent().Wait(ctx, pid)
	if err != nil {
		return model.Ran{}, err
	}
	return model.Ran{Code: end.ExitCode, Signal: end.Signal, Out: end.Out, Err: end.Err, Cut: end.OutTruncated || end.ErrTruncated}, nil
}
