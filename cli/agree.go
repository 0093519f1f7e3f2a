package cli

import (
	"context"
	"errors"
	"fmt"
)

// errDeclined: somebody was asked, and said no.
var errDeclined = &exitError{code: exitFailed, err: errors.New("nothing was changed")}

// agree asks about what can't be undone.
func (u *ui) agree(ctx context.Context, yes bool, what string) error {
	if yes || what == "" {
		return nil
	}
	ok, err := u.ask(ctx, what+". Go on?")
	switch {
	case errors.Is(err, errNoAnswer):
		return advise(fmt.Errorf("%s, and there is no terminal to confirm on", what), "If that is what you want, add --yes.")
	case err != nil:
		return err
	case !ok:
		return errDeclined
	}
	return nil
}
