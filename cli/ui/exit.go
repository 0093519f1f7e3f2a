package ui

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitChanges     = 2   // plan --detailed-exitcode: there is something to do or to wait for
	ExitInterrupted = 130 // as shells say it
)

// ExitError ends the program with a status of its own. Without an error,
// everything was said already.
type ExitError struct {
	Code int
	err  error
}

func (e *ExitError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

func (e *ExitError) Unwrap() error { return e.err }

// Run runs a command with its arguments.
func (u *UI) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(u.In)
	root.SetOut(u.Out)
	root.SetErr(u.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	var status *ExitError
	if errors.As(err, &status) {
		if status.err != nil {
			u.Complain(status.err)
		}
		return status.Code
	}
	if ctx.Err() != nil {
		return ExitInterrupted
	}
	u.Complain(err)
	return ExitFailed
}
