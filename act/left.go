package act

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/proxplane/proxplane/leftover"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// ErrKept is the error for a leftover disk that may be in use by now.
var ErrKept = errors.New("a guest may have it by now")

// errGone is a disk that isn't there any more.
var errGone = errors.New("it is gone")

// removeDisk deletes a disk that was left, after it has been proved once more that no guest has it: when
// the request is about to be sent, and not before it has waited for its turn.
func (a *Actor) removeDisk(ctx context.Context, c *pve.Client, r model.RemoveDisk) (pve.UPID, error) {
	c = c.With(pve.Before(func(ctx context.Context, _ time.Duration) error { return a.mayRemove(ctx, r) }))
	upid, err := c.Storage(r.Left.Node, model.StorageOf(r.Volume)).DeleteVolume(ctx, r.Volume)
	if errors.Is(err, errGone) {
		return pve.UPID{}, nil // somebody was quicker
	}
	return upid, err
}

// mayRemove proves that no guest has a disk that was left.
func (a *Actor) mayRemove(ctx context.Context, r model.RemoveDisk) (err error) {
	left := r.Left.Only(r.Volume)
	left.Found, err = leftover.Find(ctx, a.client, left, &a.guests, proofAge)
	switch {
	case err != nil:
		return err
	case !slices.Contains(left.Found.There, r.Volume):
		return errGone
	case !slices.Contains(left.Removable(), r.Volume):
		return ErrKept
	}
	return nil
}
