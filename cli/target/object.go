package target

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// ObjectOf returns the plan for an object of the manifests.
func (c *Site) ObjectOf(ctx context.Context, name string, kind func(string) bool) (plan.Object, error) {
	p, err := c.Site.Replan(ctx, c.Desired)
	if err != nil {
		return plan.Object{}, c.Fail(err)
	}
	var names []string
	for _, o := range p.Objects {
		if !kind(o.Owner.Kind) {
			continue
		}
		if o.Owner.Name == Bare(name) || fmt.Sprint(o.VMID) == Bare(name) {
			return c.heard(ctx, o), nil
		}
		names = append(names, o.Owner.Name)
	}
	where := "the manifests have"
	if c.Namespace != "" {
		where = "namespace " + c.Namespace + " has"
	}
	return plan.Object{}, fmt.Errorf("%s no %q; %s", where, name, ui.ThereAre(names))
}

// On finds the machine that a command is about.
func (t *Target) On(ctx context.Context, u *ui.UI, name string, do func(*Site, *model.Guest) error) error {
	c, err := t.Site(u, name)
	if err != nil {
		return err
	}
	find := c.Guest
	if t.Objects != nil {
		find = c.guestOf
	}
	g, err := find(ctx, name)
	if err != nil {
		return err
	}
	return do(c, g)
}

// Snapshot finds a snapshot of a machine.
func (c *Site) Snapshot(ctx context.Context, vm, name string) (*model.Guest, status.Snapshot, error) {
	g, err := c.Guest(ctx, vm)
	if err != nil {
		return nil, status.Snapshot{}, err
	}
	if err := c.Observer.Snapshots(ctx, g.VMID); err != nil {
		return nil, status.Snapshot{}, c.Fail(err)
	}
	g = c.Observer.Snapshot().Guests[g.VMID]
	var names []string
	for _, s := range status.Snapshots(g) {
		if s.Name == name {
			return g, s, nil
		}
		names = append(names, s.Name)
	}
	model.SortNames(names)
	there := "it has none"
	if len(names) > 0 {
		there = "it has " + strings.Join(names, ", ")
	}
	return nil, status.Snapshot{}, fmt.Errorf("%s (%d) has no snapshot %q; %s", g.Name, g.VMID, name, there)
}
