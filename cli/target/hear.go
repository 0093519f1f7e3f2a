package target

import (
	"context"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// AgentBudget is how long guest agents are waited for when a list is shown.
const AgentBudget = 5 * time.Second

// AskAddresses asks the agents of running guests for their addresses, as far as
// they answer soon.
func (c *Site) AskAddresses(ctx context.Context, list []*model.Guest) {
	ctx, cancel := context.WithTimeout(ctx, AgentBudget)
	defer cancel()
	var ids []int
	for _, g := range list {
		if g != nil && g.Status == model.StatusRunning && !g.Container && len(g.Addresses) == 0 {
			ids = append(ids, g.VMID)
		}
	}
	done := make(chan struct{}, len(ids))
	for _, id := range ids {
		go func() {
			_ = c.Observer.Addresses(ctx, id) // who doesn't answer has none to show
			done <- struct{}{}
		}()
	}
	for range ids {
		<-done
	}
}

// heard asks the agent of an object's guest, if its address is waited for.
func (c *Site) heard(ctx context.Context, o plan.Object) plan.Object {
	return c.Hear(ctx, plan.Plan{Objects: []plan.Object{o}}).Objects[0]
}

// Hear asks the agents that a plan hasn't heard yet, as far as they answer soon.
func (c *Site) Hear(ctx context.Context, p plan.Plan) plan.Plan {
	have := c.Observer.Snapshot()
	var guests []*model.Guest
	for _, id := range p.Look().Agents {
		guests = append(guests, have.Guests[id])
	}
	if len(guests) == 0 {
		return p
	}
	c.AskAddresses(ctx, guests)
	return c.Site.Heard(p, c.Desired)
}
