package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// agentBudget is how long guest agents are waited for when a list is shown.
const agentBudget = 5 * time.Second

// askAddresses asks the agents of running guests for their addresses, as far as
// they answer soon.
func (c *cluster) askAddresses(ctx context.Context, list []*model.Guest) {
	ctx, cancel := context.WithTimeout(ctx, agentBudget)
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
			_ = c.observer.Addresses(ctx, id) // who doesn't answer has none to show
			done <- struct{}{}
		}()
	}
	for range ids {
		<-done
	}
}

// askConfigs reads the configs of guests. The list shows neither whose they are (a clone
// has the tags of its source) nor how large their disks are, but for the one that they
// boot from. Who can't be read stays as the list has it.
func (c *cluster) askConfigs(ctx context.Context, list []*model.Guest) {
	var readers errgroup.Group
	readers.SetLimit(reads)
	for _, g := range list {
		if g.Config != nil {
			continue
		}
		readers.Go(func() error {
			_ = c.observer.Config(ctx, g.VMID)
			return nil
		})
	}
	_ = readers.Wait()
}

func listVMs(ctx context.Context, g *getting, names []string) (listing, error) {
	if len(g.c.Desired.VMs) > 0 {
		return listWantedVMs(ctx, g, names)
	}
	have, err := g.c.lookNow(ctx)
	if err != nil {
		return listing{}, err
	}
	guests := sorted(have, func(g *model.Guest) bool { return !g.Template && !g.Container })
	if len(names) > 0 {
		if guests, err = findGuests(have, names); err != nil {
			return listing{}, err
		}
	}
	g.c.askConfigs(ctx, guests)
	if g.output != "" {
		g.c.askAddresses(ctx, guests)
	}
	have = g.c.observer.Snapshot()
	var l listing
	var rows []status.VM
	for _, old := range guests {
		guest := have.Guests[old.VMID]
		if guest == nil {
			continue
		}
		v := status.VMOf(guest)
		rows = append(rows, v)
		l.addNamed(fmt.Sprint(v.VMID), fmt.Sprintf("%s (%d)", v.Name, v.VMID), v)
	}
	l.table = status.VMTable(rows)
	return l, nil
}

// listWantedVMs lists the machines of the manifests.
func listWantedVMs(ctx context.Context, g *getting, names []string) (listing, error) {
	p, err := g.c.site.Replan(ctx, g.c.Desired)
	if err != nil {
		return listing{}, g.c.fail(err)
	}
	objects := slices.DeleteFunc(p.Objects, func(o plan.Object) bool { return !isVM(o.Owner.Kind) })
	var all []string
	for _, o := range objects {
		all = append(all, o.Owner.Name)
	}
	if err := missing("machine", names, all); err != nil {
		return listing{}, err
	}
	objects = slices.DeleteFunc(objects, func(o plan.Object) bool { return !named(names, o.Owner.Name) })
	have := g.c.observer.Snapshot()
	var guests []*model.Guest
	for _, o := range objects {
		guests = append(guests, have.Guests[o.VMID])
	}
	g.c.askAddresses(ctx, guests)
	have = g.c.observer.Snapshot()
	var l listing
	var rows []status.VM
	for _, o := range g.c.site.Heard(plan.Plan{Objects: objects}, g.c.Desired).Objects {
		v := status.Wanted(have.Guests[o.VMID], o)
		rows = append(rows, v)
		l.add(v.Object, v)
	}
	l.table = status.SummaryTable(rows)
	return l, nil
}

// heard asks the agent of an object's guest, if its address is waited for.
func (c *cluster) heard(ctx context.Context, o plan.Object) plan.Object {
	return c.hear(ctx, plan.Plan{Objects: []plan.Object{o}}).Objects[0]
}

// hear asks the agents that a plan hasn't heard yet, as far as they answer soon.
func (c *cluster) hear(ctx context.Context, p plan.Plan) plan.Plan {
	have := c.observer.Snapshot()
	var guests []*model.Guest
	for _, id := range p.Look().Agents {
		guests = append(guests, have.Guests[id])
	}
	if len(guests) == 0 {
		return p
	}
	c.askAddresses(ctx, guests)
	return c.site.Heard(p, c.Desired)
}

// told is an object's plan without the wish to ask the guest's agent: a plan shows
// changes, and that isn't one.
func told(o plan.Object) plan.Object {
	o.Look.Agents = nil
	return o
}

// named tells whether a name is among those asked for.
func named(names []string, name string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return bare(n) == name })
}
