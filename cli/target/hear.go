package target

import (
	"context"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// AskAddresses asks the agents of running guests for their addresses, as far as
// they answer soon.
func (c *Site) AskAddresses(ctx context.Context, list []*model.Guest) {
	c.Observer.AskAddresses(ctx, list)
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
