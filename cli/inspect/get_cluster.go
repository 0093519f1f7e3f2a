package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

func listNodes(ctx context.Context, g *Get, names []string) (listing, error) {
	have, err := g.c.Look(ctx)
	if err != nil {
		return listing{}, err
	}
	var l listing
	var rows []status.Node
	all := model.NamesOf(have.Nodes)
	for _, name := range all {
		if named(names, name) {
			n := status.NodeOf(have.Nodes[name], have)
			rows = append(rows, n)
			l.add(name, n)
		}
	}
	l.table = status.NodeTable(rows)
	return l, missing("node", names, all)
}

func listStorages(ctx context.Context, g *Get, names []string) (listing, error) {
	have, err := g.c.Look(ctx)
	if err != nil {
		return listing{}, err
	}
	var l listing
	var rows []status.Storage
	all := model.NamesOf(have.Storages)
	for _, name := range all {
		if !named(names, name) {
			continue
		}
		for _, s := range status.StoragesOf(have.Storages[name]) {
			rows = append(rows, s)
			l.add(fmt.Sprintf("%s %v", s.Name, s.Nodes), s)
		}
	}
	l.table = status.StorageTable(rows)
	return l, missing("storage", names, all)
}

// missing is an error if a name was asked for that nothing has.
func missing(what string, names, there []string) error {
	for _, name := range names {
		if !slices.Contains(there, target.Bare(name)) {
			return fmt.Errorf("there is no %s %s; %s", what, target.Bare(name), ui.ThereAre(there))
		}
	}
	return nil
}

// listSnapshots lists the snapshots of machines: all, those named or selected, or those
// of the manifests.
func listSnapshots(ctx context.Context, g *Get, names []string) (listing, error) {
	names, err := g.Chosen(ctx, g.c, names)
	if err != nil {
		return listing{}, err
	}
	have, err := g.c.Look(ctx)
	if err != nil {
		return listing{}, err
	}
	guests := target.Sorted(have, func(g *model.Guest) bool { return !g.Container })
	switch {
	case len(names) > 0:
		if guests, err = g.c.Guests(ctx, names...); err != nil {
			return listing{}, err
		}
	case len(g.c.Desired.VMs) > 0:
		vms, err := listWantedVMs(ctx, g, nil)
		if err != nil {
			return listing{}, err
		}
		guests = nil
		for _, v := range vms.values {
			if guest := have.Guests[v.(status.VM).VMID]; guest != nil {
				guests = append(guests, guest)
			}
		}
	}
	var ids []int
	for _, guest := range guests {
		ids = append(ids, guest.VMID)
	}
	if err := g.c.ReadAll(ctx, ids, g.c.Observer.Snapshots); err != nil {
		return listing{}, err
	}
	have = g.c.Observer.Snapshot()
	var l listing
	var rows []status.Snapshot
	for _, id := range ids {
		guest := have.Guests[id]
		if guest == nil {
			continue
		}
		for _, s := range status.Snapshots(guest) {
			rows = append(rows, s)
			l.add(s.VM+"/"+s.Name, s)
		}
	}
	l.table = status.SnapshotTable(rows, g.c.Client.Now())
	return l, nil
}
