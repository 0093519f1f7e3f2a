package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// aside does something to a machine that stops it for a while: what runs there moves before, and may come
// back afterwards. A control plane is stopped only while the others are a majority of etcd.
func (w *Work) aside(ctx context.Context, c *Cluster, m *Member, do func() error) error {
	alone := !slices.ContainsFunc(c.Members, func(o Member) bool { return o.Name != m.Name && o.Server() })
	if err := c.mayRestart(ctx, m); err != nil {
		return err
	}
	if m.Server() && alone {
		w.Report.Doing(m.Name, "isn't drained: it is the only control plane, and the API is away while it restarts")
	} else if err := w.drain(ctx, c, m.Name); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	_, err := c.ask(ctx, "uncordon", m.Name)
	return err
}

// resize restarts the machines for whose new size that is needed: one by one, drained before, and the next
// one when the last is a node again.
func (w *Work) resize(ctx context.Context, c *Cluster, r Record) (*Cluster, error) {
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil && !errors.Is(err, ErrNoAPI) { // a restart may be what they need
		return c, err
	}
	for _, name := range names(c.Members) {
		m, err := c.Member(name)
		if err != nil {
			return c, err
		}
		if r.File.Pool(m.Pool) == nil || !m.Seeded || m.Guest.Status != model.StatusRunning {
			continue
		}
		want, err := c.wanted(r, "").desired([]Node{m.Node})
		if err != nil {
			return c, err
		}
		want.Allow.Restart = true
		p, err := w.Site.Plan(ctx, want)
		if err != nil {
			return c, err
		}
		if !restarts(p, m.Owner(c.Name)) {
			if nodes[name].Spec.Unschedulable { // restarts that were interrupted have left it so
				if _, err := c.ask(ctx, "uncordon", name); err != nil {
					return c, err
				}
			}
			continue
		}
		if err := w.aside(ctx, c, m, func() error { return w.restart(ctx, c, m, want) }); err != nil {
			return c, fmt.Errorf("the restarts stop at %s: %w", name, err)
		}
		if c, err = Find(ctx, w.Site, w.In, c.Name); err != nil {
			return c, err
		}
	}
	return c, nil
}

// restart has a machine become as it is wanted, and waits until it is a node again.
func (w *Work) restart(ctx context.Context, c *Cluster, m *Member, want model.Desired) error {
	if err := w.apply(ctx, want); err != nil {
		return err
	}
	now, err := c.clock(ctx, m) // it has booted
	if err != nil {
		return err
	}
	return w.awaitAll(ctx, c, []Node{m.Node}, expected{since: map[string]time.Time{m.Name: now}})
}

// restarts reports whether a plan stops and starts a machine.
func restarts(p plan.Plan, owner model.Owner) bool {
	return slices.ContainsFunc(p.Objects, func(o plan.Object) bool {
		return o.Owner == owner && slices.ContainsFunc(o.Steps, func(s plan.Step) bool { return s.Effect == plan.Restart })
	})
}
