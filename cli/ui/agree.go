package ui

import (
	"context"
	"errors"
	"fmt"
)

// ErrDeclined says that somebody was asked, and said no.
var ErrDeclined = &ExitError{Code: ExitFailed, err: errors.New("nothing was changed")}

// Agree asks about what can't be undone.
func (u *UI) Agree(ctx context.Context, yes bool, what string) error {
	if yes || what == "" {
		return nil
	}
	ok, err := u.Ask(ctx, what+". Go on?")
	switch {
	case errors.Is(err, ErrNoAnswer):
		return Advise(fmt.Errorf("%s, and there is no terminal to confirm on", what), "If that is what you want, add --yes.")
	case err != nil:
		return err
	case !ok:
		return ErrDeclined
	}
	return nil
}
