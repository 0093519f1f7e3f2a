package ui

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/proxplane/proxplane/status"
)

// TimeoutError is the end of --timeout.
type TimeoutError struct{ after time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("not done after %s", e.after) }

// Is reports true for the errors of contexts that have ended: nothing has failed.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// WithTimeout bounds ctx, if that is wanted.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return WithRest(ctx, d, 0)
}

// WithRest bounds ctx by what is left of a time, if there is a bound.
func WithRest(ctx context.Context, d, spent time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d-spent, &TimeoutError{d})
}

// again is what people should know when it ends early.
const again = "Tasks that were started go on in Proxmox; running the same command again continues."

// Ending returns an error, or the end of --timeout in its place if that has caused it.
func Ending(ctx context.Context, err error) error {
	var late *TimeoutError
	if errors.Is(err, context.DeadlineExceeded) && errors.As(context.Cause(ctx), &late) {
		return late
	}
	return err
}

// Lateness says what --timeout means for what was begun.
func Lateness(err error) error {
	var late *TimeoutError
	if errors.As(err, &late) {
		return Advise(late, again)
	}
	return err
}

// TooEarly says what --timeout means before anything was begun.
func TooEarly(ctx context.Context, err error) error {
	err = Ending(ctx, err)
	var late *TimeoutError
	if errors.As(err, &late) {
		return Advise(late, "Nothing was begun: Proxmox hadn't said by then what there is.")
	}
	return err
}

// Interrupted says that nothing is lost, and then how far each object has come.
func Interrupted(u *UI, stood ...string) error {
	width := u.Page(u.Err).Width
	fmt.Fprintln(u.Err, status.Wrap("Interrupted. "+again, width, ""))
	for _, line := range stood {
		fmt.Fprintln(u.Err, status.Wrap("  "+line, width, "      "))
	}
	return &ExitError{Code: ExitInterrupted}
}
