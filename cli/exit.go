package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitChanges     = 2   // plan --detailed-exitcode: there is something to do
	exitInterrupted = 130 // as shells say it
)

// exitError ends the program with a status of its own. Without an error,
// everything was said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run runs a command with its arguments.
func (u *ui) run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(u.in)
	root.SetOut(u.out)
	root.SetErr(u.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var status *exitError
	if errors.As(err, &status) {
		if status.err != nil {
			u.complain(status.err)
		}
		return status.code
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	u.complain(err)
	return exitFailed
}
