package inspect

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"

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

// listImages lists templates, ISO files and files to import.
func listImages(ctx context.Context, g *Get, names []string) (listing, error) {
	if len(g.c.Desired.Images) > 0 {
		return listWantedImages(ctx, g, names)
	}
	have, err := g.c.Look(ctx)
	if err != nil {
		return listing{}, err
	}
	if err := g.c.Observer.Files(ctx); err != nil {
		return listing{}, g.c.Fail(err)
	}
	var rows []status.Image
	for _, t := range target.Sorted(have, func(g *model.Guest) bool { return g.Template && !g.Container }) {
		rows = append(rows, status.Image{Name: t.Name, Type: "template", VMID: t.VMID, Node: t.Node, Size: t.Disk, Ours: status.VMOf(t).Ours})
	}
	files := g.c.Observer.Snapshot().Files
	for _, volume := range model.NamesOf(files) {
		f := files[volume]
		rows = append(rows, status.Image{Name: path.Base(volume), Type: f.Content, Volume: volume, Node: f.Node, Size: f.Size})
	}
	var l listing
	var all []string
	for _, i := range rows {
		all = append(all, i.Name)
	}
	byVMID := func(name string) bool {
		return slices.ContainsFunc(rows, func(i status.Image) bool { return strconv.Itoa(i.VMID) == name })
	}
	if err := missing("image", slices.DeleteFunc(slices.Clone(names), byVMID), all); err != nil {
		return l, err
	}
	rows = slices.DeleteFunc(rows, func(i status.Image) bool { return !named(names, i.Name) && !named(names, strconv.Itoa(i.VMID)) })
	for _, i := range rows {
		l.add(fmt.Sprintf("%s %d%s", i.Name, i.VMID, i.Volume), i)
	}
	l.table = status.ImageTable(rows)
	return l, nil
}

func listWantedImages(ctx context.Context, g *Get, names []string) (listing, error) {
	p, err := g.c.Site.Replan(ctx, g.c.Desired)
	if err != nil {
		return listing{}, g.c.Fail(err)
	}
	have := g.c.Observer.Snapshot()
	var l listing
	var rows []status.Image
	var all []string
	for n, o := range p.Objects {
		if o.Owner.Kind != "VMImage" {
			continue
		}
		image, _, _ := o.Owner.CopyOf()
		spread := n+1 < len(p.Objects) && o.On == "" && p.Objects[n+1].On != ""
		if all = append(all, image.Name); !named(names, image.Name) || spread {
			continue // its templates follow
		}
		out := status.CLI.Of(o)
		ready := out.State == model.StateReady
		i := status.Image{Name: image.Name, VMID: o.VMID, Node: o.Node, Object: status.Name(o.Owner.Key), Ready: &ready, Message: out.Message}
		if t := have.Guests[o.VMID]; t != nil {
			i.Type, i.Size, i.Ours = "template", t.Disk, status.VMOf(t).Ours
		}
		rows = append(rows, i)
		l.add(i.Object, i)
	}
	l.table = status.ImageTable(rows)
	return l, missing("image", names, all)
}

// listSnapshots lists the snapshots of machines: all, those named or selected, or those
// of the manifests.
func listSnapshots(ctx context.Context, g *Get, names []string) (listing, error) {
	names, err := g.Chosen(ctx, g.c, names, false)
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
		if guests, err = target.FindGuests(have, names); err != nil {
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
