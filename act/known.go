package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Known has the facts when an action was planned.
type Known struct {
	Storage Storage
	// Node is the node of the action's guest, and Owner the owner in its marker. Zero: it had
	// no marker, or there is no guest.
	Node  string
	Owner model.Owner
	// ByHand is the name of the guest in a person's request; empty: the action is from a plan. The
	// guest's owner doesn't matter then, but its name must match, and its marker if the request names
	// an owner.
	ByHand string
	// Progress, if set, is called with the fraction that is done of data that pass through this
	// process.
	Progress func(float64)
}

// Know returns what is known for an action.
func Know(action model.Action, have *model.Observed) Known {
	k := Known{Storage: On(action, have)}
	if g := have.Guests[action.Guest()]; g != nil && g.Config != nil && g.Config.Marker != nil {
		k.Node, k.Owner = g.Node, g.Config.Marker.Owner
	}
	return k
}

// proofAge is how long a request may wait for its turn before the guest's owner has to be proved again.
const proofAge = 5 * time.Second

// clientFor returns the client for an action, with the checks right before its requests.
func (a *Actor) clientFor(action model.Action, known Known) *pve.Client {
	c := known.Storage.client(a.client)
	if known.ByHand != "" && model.FactsOf(action).Proof == model.ProofFresh {
		return c.With(pve.Before(func(ctx context.Context, _ time.Duration) error {
			return a.stillNamed(ctx, model.Target{VMID: action.Guest(), Node: known.Node}, known)
		}))
	}
	if model.FactsOf(action).Proof != model.ProofFresh || known.Owner == (model.Owner{}) {
		return c
	}
	return c.With(pve.Before(func(ctx context.Context, waited time.Duration) error {
		if waited < proofAge {
			return nil
		}
		return a.stillOf(ctx, model.Target{VMID: action.Guest(), Node: known.Node}, known.Owner)
	}))
}

// stillOf checks that a guest is still its owner's.
func (a *Actor) stillOf(ctx context.Context, guest model.Target, owner model.Owner) error {
	now, err := a.client.VM(guest.Node, guest.VMID).Config(ctx, pve.ConfigOptions{Current: true})
	if err != nil {
		return fmt.Errorf("read whose it is: %w", err)
	}
	if err := proves(now.Settings["description"], owner, guest.VMID); err != nil {
		// It was the owner's a moment ago, so it is looked at again before anything is said.
		return fmt.Errorf("%w: %s", pve.ErrModified, err.Error())
	}
	return nil
}

// ErrAnother is the error for a guest that isn't the requested one: its VMID was reused.
var ErrAnother = errors.New("it isn't the guest that was named")

// stillNamed checks that a guest is still the one that a person has named.
func (a *Actor) stillNamed(ctx context.Context, guest model.Target, known Known) error {
	now, err := a.client.VM(guest.Node, guest.VMID).Config(ctx, pve.ConfigOptions{Current: true})
	if err != nil {
		return fmt.Errorf("read which guest it is: %w", err)
	}
	if is := cmp.Or(now.Settings["name"], fmt.Sprintf("VM %d", guest.VMID)); is != known.ByHand { // as Proxmox lists it
		return fmt.Errorf("VM %d is %q by now, and was %q: %w", guest.VMID, is, known.ByHand, ErrAnother)
	}
	if known.Owner == (model.Owner{}) {
		return nil
	}
	if err := proves(now.Settings["description"], known.Owner, guest.VMID); err != nil {
		return fmt.Errorf("VM %d was %s of set %q, and isn't any more: %w", guest.VMID, known.Owner.Key, known.Owner.Set, ErrAnother)
	}
	return nil
}
