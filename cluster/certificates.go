package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// RotateCertificates has all machines renew their certificates: control planes one by one, then workers
// one by one. It stops at the first that fails; those that were renewed before are renewed again when
// it is called again, which does no harm.
func (w *Work) RotateCertificates(ctx context.Context, c *Cluster) error {
	if _, err := c.allReady(ctx); err != nil {
		return fmt.Errorf("nothing is renewed: %w", err)
	}
	d := c.distribution()
	for _, m := range c.Members {
		w.Report.Doing(m.Name, "renews its certificates")
		for _, command := range [][]string{{"systemctl", "stop", d.unit(m.Server())}, {d.program(), "certificate", "rotate"}, {"systemctl", "start", d.unit(m.Server())}} {
			if _, err := output(ctx, w.In, m.Guest, "", command...); err != nil {
				return fmt.Errorf("it stops at %s: %w", m.Name, err)
			}
		}
		if err := w.awaitAll(ctx, c, []Node{m.Node}, ""); err != nil {
			return fmt.Errorf("it stops at %s: %w", m.Name, err)
		}
	}
	return nil
}

// allReady are the nodes of a cluster, if each machine is one that is ready.
func (c *Cluster) allReady(ctx context.Context) (map[string]corev1.Node, error) {
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, m := range c.Members {
		if n, there := nodes[m.Name]; !there || !has(n, string(corev1.NodeReady)) {
			return nil, fmt.Errorf("%s isn't ready; repair or replace it first", m.Name)
		}
	}
	return nodes, nil
}
