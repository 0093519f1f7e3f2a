package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/spec/suggest"
)

// Wanted finds a machine that the record of a cluster names, whether it is there or not.
func (c *Cluster) Wanted(name string) (n Node, there bool, err error) {
	if m, err := c.Member(name); err == nil {
		return m.Node, true, nil
	}
	var known []string
	for _, n := range NodesOf(c.Record.File) {
		if n.Name == name {
			return n, false, nil
		}
		known = append(known, n.Name)
	}
	return n, false, fmt.Errorf("cluster %s has no machine %s; %s", c.Name, name, suggest.DidYouMean(name, known))
}

// Replace recreates a machine: it leaves the cluster, is destroyed, and joins as a new one of the same
// name. If the machine is gone, its node and its membership of etcd are removed first.
func (w *Work) Replace(ctx context.Context, c *Cluster, name string) (*Cluster, error) {
	n, there, err := c.Wanted(name)
	if err != nil {
		return c, err
	}
	token, err := w.token(ctx, c, c.Record)
	if err != nil {
		return c, fmt.Errorf("%s stays: %w", name, err)
	}
	if there {
		gone, err := c.Member(name)
		if err != nil {
			return c, err
		}
		if gone.Away { // it can't be destroyed, and two of a name can't be
			return c, fmt.Errorf("%w; meanwhile others can take its place: proxplane cluster scale %s=COUNT --cluster %s", errAway([]Member{*gone}), gone.Pool, c.Name)
		}
		if err := w.leave(ctx, c, *gone); err != nil {
			return c, err
		}
		if c, err = w.destroyMachines(ctx, c, *gone); err != nil {
			return c, err
		}
		if c.Record.File == nil {
			return c, fmt.Errorf("%s was the last control plane: %w", name, ErrQuorum)
		}
	}
	n.First = false
	return w.makeNodes(ctx, c, c.Record, token, []Node{n})
}

// dropLost removes the nodes of machines that are to be made and that Kubernetes still knows from
// before: somebody has destroyed them, or a command was interrupted. With such a node there, its name
// is taken, and etcd counts a member that is gone.
func (w *Work) dropLost(ctx context.Context, c *Cluster, nodes []Node) error {
	lost := slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool {
		return slices.ContainsFunc(c.Members, func(m Member) bool { return m.Name == n.Name && m.Seeded })
	})
	if len(lost) == 0 || !c.begun() { // nobody can know them
		return nil
	}
	known, err := c.kubeNodes(ctx, "")
	if err != nil {
		return fmt.Errorf("%s isn't made: %w", lost[0].Name, err)
	}
	lost = slices.DeleteFunc(lost, func(n Node) bool { _, there := known[n.Name]; return !there })
	if len(lost) == 0 {
		return nil
	}
	// Somebody else may have made them meanwhile, which a list of some seconds ago doesn't show.
	if err := w.Site.Observer().Refresh(ctx, 0); err != nil {
		return err
	}
	now, err := Find(ctx, w.Site, w.In, c.Name)
	if err != nil {
		return err
	}
	for _, n := range lost {
		if m, err := now.Member(n.Name); err == nil && m.Seeded {
			continue
		}
		if err := w.leave(ctx, c, Member{Node: n}); err != nil {
			return err
		}
	}
	return nil
}
