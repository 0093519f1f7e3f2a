package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/proxplane/proxplane/status"
)

// timeoutError is the end of --timeout.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("not done after %s", e.after) }

// Is has it known as the end of a context: nothing has failed.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// withTimeout bounds ctx, if that is wanted.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &timeoutError{d})
}

// again is what people should know when it ends early.
const again = "Tasks that were started go on in Proxmox; running the same command again continues."

// lateness tells what --timeout means for what was begun.
func lateness(err error) error {
	var late *timeoutError
	if errors.As(err, &late) {
		return advise(late, again)
	}
	return err
}

// interrupted says that nothing is lost, and then how far each object has come.
func interrupted(u *ui, stood ...string) error {
	width := u.page(u.err).Width
	fmt.Fprintln(u.err, status.Wrap("Interrupted. "+again, width, ""))
	for _, line := range stood {
		fmt.Fprintln(u.err, status.Wrap("  "+line, width, "      "))
	}
	return &exitError{code: exitInterrupted}
}
