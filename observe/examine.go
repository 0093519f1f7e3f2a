package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
)

// AgentBudget is the time for guest agents to answer queries without a plan.
const AgentBudget = 5 * time.Second

// Examine reads all facts about some guests, and about the templates of linked clones, so that they can be
// described as a spec. The facts are in the next [Observer.Snapshot].
func (o *Observer) Examine(ctx context.Context, vmids ...int) error {
	err := each(vmids, func(id int) error {
		return errors.Join(o.Config(ctx, id), o.Status(ctx, id), o.Firewall(ctx, id))
	})
	if err != nil {
		return err
	}
	var agents []*model.Guest
	guarded := false
	for _, id := range vmids {
		g, err := o.Known(ctx, id)
		if err != nil {
			return err
		}
		if g == nil {
			return fmt.Errorf("VM %d is gone", id)
		}
		guarded = guarded || g.HAState != ""
		if model.AgentOn(g.Config.Options) {
			agents = append(agents, g)
		}
		for _, d := range g.Config.Disks {
			if t := d.Template(); o.guest(t) != nil {
				_ = o.Config(ctx, t) // what it brings isn't lost
			}
		}
	}
	o.AskAddresses(ctx, agents)
	if guarded && o.Snapshot().HA == nil {
		return o.HA(ctx)
	}
	return nil
}

// Known returns a guest with its config, which is read if it isn't known; nil: there is no such guest. If the
// config changes meanwhile, it is read again a few times.
func (o *Observer) Known(ctx context.Context, vmid int) (*model.Guest, error) {
	const tries = 5
	for range tries {
		if g := o.guest(vmid); g == nil || g.Config != nil {
			return g, nil
		}
		if err := o.Config(ctx, vmid); err != nil {
			return nil, err
		}
	}
	if g := o.guest(vmid); g == nil || g.Config != nil {
		return g, nil
	}
	return nil, fmt.Errorf("VM %d changes whenever it is read", vmid)
}

// AskAddresses asks the agents of running guests for their addresses, within [AgentBudget].
func (o *Observer) AskAddresses(ctx context.Context, list []*model.Guest) {
	ctx, cancel := context.WithTimeout(ctx, AgentBudget)
	defer cancel()
	var ids []int
	for _, g := range list {
		if g != nil && g.Status == model.StatusRunning && !g.Container && len(g.Addresses) == 0 {
			ids = append(ids, g.VMID)
		}
	}
	_ = each(ids, func(id int) error {
		_ = o.Addresses(ctx, id) // who doesn't answer has none to show
		return nil
	})
}

// each does something for each of some guests, side by side; the limiter bounds how many at once.
func each(vmids []int, do func(vmid int) error) error {
	errs := make([]error, len(vmids))
	var wg sync.WaitGroup
	for i, id := range vmids {
		wg.Go(func() { errs[i] = do(id) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (o *Observer) guest(vmid int) (g *model.Guest) {
	o.View(func(have *model.Observed) { g = have.Guests[vmid] })
	return g
}
