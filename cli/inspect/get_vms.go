package inspect

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// askConfigs reads the configs of guests. The list shows neither whose they are (a clone
// has the tags of its source) nor how large their disks are, but for the one that they
// boot from. Who can't be read stays as the list has it.
func askConfigs(ctx context.Context, c *target.Site, list []*model.Guest) {
	var readers errgroup.Group
	readers.SetLimit(target.ReadsAtOnce)
	for _, g := range list {
		if g.Config != nil {
			continue
		}
		readers.Go(func() error {
			_ = c.Observer.Config(ctx, g.VMID)
			return nil
		})
	}
	_ = readers.Wait()
}

func listVMs(ctx context.Context, g *Get, names []string) (listing, error) {
	if len(g.c.Desired.VMs) > 0 {
		return listWantedVMs(ctx, g, names)
	}
	have, err := g.c.LookNow(ctx)
	if err != nil {
		return listing{}, err
	}
	guests := target.Sorted(have, func(g *model.Guest) bool { return !g.Template && !g.Container })
	if len(names) > 0 {
		if guests, err = g.c.FindAll(ctx, have, names); err != nil {
			return listing{}, err
		}
	}
	askConfigs(ctx, g.c, guests)
	if g.output != "" {
		g.c.AskAddresses(ctx, guests)
	}
	have = g.c.Observer.Snapshot()
	var l listing
	if silent := target.Silent(have); silent != "" {
		l.notes = append(l.notes, silent)
	}
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
func listWantedVMs(ctx context.Context, g *Get, names []string) (listing, error) {
	p, err := g.c.Site.Replan(ctx, g.c.Desired)
	if err != nil {
		return listing{}, g.c.Fail(err)
	}
	objects := slices.DeleteFunc(p.Objects, func(o plan.Object) bool { return !target.IsVM(o.Owner.Kind) })
	var all []string
	for _, o := range objects {
		all = append(all, o.Owner.Name)
	}
	if err := missing("machine", names, all); err != nil {
		return listing{}, err
	}
	objects = slices.DeleteFunc(objects, func(o plan.Object) bool { return !named(names, o.Owner.Name) })
	have := g.c.Observer.Snapshot()
	var guests []*model.Guest
	for _, o := range objects {
		guests = append(guests, have.Guests[o.VMID])
	}
	g.c.AskAddresses(ctx, guests)
	have = g.c.Observer.Snapshot()
	var l listing
	var rows []status.VM
	for _, o := range g.c.Site.Heard(plan.Plan{Objects: objects}, g.c.Desired).Objects {
		v := status.Wanted(have.Guests[o.VMID], o)
		rows = append(rows, v)
		l.add(v.Object, v)
	}
	l.table = status.SummaryTable(rows)
	return l, nil
}

// named reports whether a name is among those asked for.
func named(names []string, name string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return target.Bare(n) == name })
}
