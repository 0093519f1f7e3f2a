package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// RotateCertificates renews the certificates of all machines: control planes one by one, then workers
// one by one. It stops at the first failure; called again, it renews all of them again, which does no
// harm.
func (w *Work) RotateCertificates(ctx context.Context, c *Cluster) error {
	if _, err := c.allReady(ctx); err != nil {
		return fmt.Errorf("nothing is renewed: %w", err)
	}
	for _, m := range c.Members {
		w.Report.Doing(m.Name, "renews its certificates")
		if err := w.rotate(ctx, c, &m); err != nil {
			return fmt.Errorf("it stops at %s: %w", m.Name, err)
		}
	}
	return nil
}

// rotate renews the certificates of one machine. Others go on only when it is back: a control plane that
// is stopped is missing in etcd.
func (w *Work) rotate(ctx context.Context, c *Cluster, m *Member) error {
	if err := c.mayRestart(ctx, m); err != nil {
		return err
	}
	unit := c.distribution().unit(m.Server())
	// One script: it goes on in the machine when this is interrupted, and no service stays stopped.
	script := fmt.Sprintf(`systemctl stop %[1]s && %[2]s certificate rotate || failed=yes; date %[3]s; systemctl start --no-block %[1]s; test "$failed" != yes`, unit, c.distribution().program(), clockFormat)
	out, err := output(ctx, w.In, m.Guest, "", "sh", "-c", script)
	if err != nil {
		return err
	}
	stopped, err := readClock(m, lastLines(out, 1))
	if err != nil {
		return err
	}
	return w.awaitAll(ctx, c, []Node{m.Node}, expected{since: map[string]time.Time{m.Name: stopped}})
}

// startAgain starts the service of a machine in which it is stopped, and waits until its kubelet reports.
func (w *Work) startAgain(ctx context.Context, c *Cluster, m *Member) error {
	now, err := c.clock(ctx, m)
	if err != nil {
		return err
	}
	if _, err := output(ctx, w.In, m.Guest, "", "systemctl", "start", "--no-block", c.distribution().unit(m.Server())); err != nil {
		return err
	}
	return w.awaitAll(ctx, c, []Node{m.Node}, expected{since: map[string]time.Time{m.Name: now}})
}

// allReady are the nodes of a cluster, if each machine is one that is ready.
func (c *Cluster) allReady(ctx context.Context) (map[string]corev1.Node, error) {
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, m := range c.Members {
		if n, there := nodes[m.Name]; !there || !has(n, string(corev1.NodeReady)) || m.Guest.Status != model.StatusRunning {
			return nil, fmt.Errorf("%s isn't ready; repair or replace it first", m.Name)
		}
	}
	return nodes, nil
}
