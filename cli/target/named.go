package target

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// Guests finds machines by their names or VMIDs. The cluster's list shows names that are a status round
// old, so nodes are asked for those of right now. What the manifests name is the machine whose own config says that it is
// theirs, whichever others have the same name. One that is named twice is there once.
func (c *Site) Guests(ctx context.Context, names ...string) ([]*model.Guest, error) {
	var objects map[model.Key]plan.Object
	var list []*model.Guest
	have, err := c.lookFor(ctx, names)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, name := range names {
		var g *model.Guest
		if v, ok := c.declared(name); ok {
			if objects == nil {
				objects, err = c.planned(ctx)
			}
			if err == nil {
				g, err = c.proved(ctx, objects[v.Owner.Key])
			}
		} else {
			g, err = c.Find(ctx, have, name)
		}
		if err != nil {
			return nil, err
		}
		if !seen[g.VMID] {
			list = append(list, g)
		}
		seen[g.VMID] = true
	}
	return list, nil
}

// Guest finds one machine, as [Site.Guests] does.
func (c *Site) Guest(ctx context.Context, name string) (*model.Guest, error) {
	list, err := c.Guests(ctx, name)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// lookFor looks at the cluster with the names of right now: of all guests, or of those that are given by
// their VMIDs, if all are.
func (c *Site) lookFor(ctx context.Context, names []string) (*model.Observed, error) {
	var ids []int
	for _, name := range names {
		id, err := strconv.Atoi(Bare(name))
		if err != nil {
			return c.LookNow(ctx)
		}
		ids = append(ids, id)
	}
	if _, err := c.Look(ctx); err != nil {
		return nil, err
	}
	if err := c.ReadAll(ctx, ids, c.Observer.Status); err != nil {
		return nil, err
	}
	return c.Observer.Snapshot(), nil
}

// declared finds a machine of the manifests by its name.
func (c *Site) declared(name string) (model.VM, bool) {
	name = Bare(name)
	for _, v := range c.Desired.VMs {
		if v.Owner.Name == name || v.Name == name {
			return v, true
		}
	}
	return model.VM{}, false
}

// Declared reports whether the manifests have a machine of this name.
func (c *Site) Declared(name string) bool {
	_, ok := c.declared(name)
	return ok
}

// planned is the plan for each object of the manifests.
func (c *Site) planned(ctx context.Context) (map[model.Key]plan.Object, error) {
	p, err := c.Site.Replan(ctx, c.Desired)
	if err != nil {
		return nil, c.Fail(err)
	}
	objects := map[model.Key]plan.Object{}
	for _, o := range p.Objects {
		objects[o.Owner.Key] = o
	}
	return objects, nil
}

// proved is the machine of an object, if its own config says so. The VMID that a plan chooses may be that of
// another one.
func (c *Site) proved(ctx context.Context, o plan.Object) (*model.Guest, error) {
	g, err := c.Observer.Known(ctx, o.VMID)
	switch {
	case err != nil:
		return nil, c.Fail(err)
	case g != nil && g.Config.Marker != nil && g.Config.Marker.Owner == o.Owner && g.Config.Marker.Of(g.VMID):
		return g, nil
	}
	words := status.CLI
	if c.Namespace != "" {
		words = status.Kubernetes
	}
	absence := "isn't there yet"
	if o.Wait != nil && o.Wait.Reason.Facts().Hidden || c.Observer.Snapshot().Guests[o.VMID] != nil {
		absence = "wasn't found"
	}
	return nil, ui.Advise(noGuestError(fmt.Sprintf("%s %s: %s", status.Name(o.Owner.Key), absence, words.Of(o).Message)), c.namesakes(o.Owner.Name))
}

// namesakes says which machines have the name of an object and aren't its own.
func (c *Site) namesakes(name string) string {
	var others []string
	for _, g := range c.Observer.Snapshot().Named(name) {
		if !g.Container {
			others = append(others, fmt.Sprintf("VM %d on %s", g.VMID, g.Node))
		}
	}
	if len(others) == 0 {
		return ""
	}
	model.SortNames(others)
	return fmt.Sprintf("Another machine has this name, and isn't of these manifests: %s. Name it by its VMID.", strings.Join(others, ", "))
}
