package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// objectOf is the plan for an object of the manifests.
func (c *cluster) objectOf(ctx context.Context, name string, kind func(string) bool) (plan.Object, error) {
	p, err := c.site.Replan(ctx, c.Desired)
	if err != nil {
		return plan.Object{}, c.fail(err)
	}
	var names []string
	for _, o := range p.Objects {
		if !kind(o.Owner.Kind) {
			continue
		}
		if o.Owner.Name == bare(name) || fmt.Sprint(o.VMID) == bare(name) {
			return c.heard(ctx, o), nil
		}
		names = append(names, o.Owner.Name)
	}
	where := "the manifests have"
	if c.namespace != "" {
		where = "namespace " + c.namespace + " has"
	}
	return plan.Object{}, fmt.Errorf("%s no %q; %s", where, name, thereAre(names))
}

// on finds the machine that a command is about.
func (t *target) on(ctx context.Context, u *ui, name string, do func(*cluster, *model.Guest) error) error {
	c, err := t.cluster(u, name)
	if err != nil {
		return err
	}
	if t.objects != nil {
		g, err := c.guestOf(ctx, name)
		if err != nil {
			return err
		}
		return do(c, g)
	}
	have, err := c.look(ctx)
	if err != nil {
		return err
	}
	g, err := findGuest(have, name)
	if err != nil {
		return err
	}
	return do(c, g)
}

// snapshot finds a snapshot of a machine.
func (c *cluster) snapshot(ctx context.Context, vm, name string) (*model.Guest, status.Snapshot, error) {
	have, err := c.look(ctx)
	if err != nil {
		return nil, status.Snapshot{}, err
	}
	g, err := findGuest(have, vm)
	if err != nil {
		return nil, status.Snapshot{}, err
	}
	if err := c.observer.Snapshots(ctx, g.VMID); err != nil {
		return nil, status.Snapshot{}, c.fail(err)
	}
	g = c.observer.Snapshot().Guests[g.VMID]
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
