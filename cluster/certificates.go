package cluster

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// RotateCertificates renews the certificates of all machines: control planes one by one, then workers
// one by one. It stops at the first failure; called again, it renews all of them again, which does no
// harm. If those of the control planes have expired, nobody can ask them anything before it is done.
func (w *Work) RotateCertificates(ctx context.Context, c *Cluster) error {
	var renewed []Node
	if err := c.mayRotate(ctx); err != nil {
		if !c.expired(ctx) {
			return fmt.Errorf("nothing is renewed: %w", err)
		}
		if renewed, err = w.revive(ctx, c); err != nil {
			return err
		}
	}
	var left []error
	for _, m := range c.Members {
		switch {
		case slices.Contains(renewed, m.Node):
		case m.Guest.Status != model.StatusRunning: // as it may be where nobody could be asked before
			left = append(left, fmt.Errorf("%s keeps its certificates: it is %s; start it, or replace it if it is lost, and run the same command again", m.Name, m.Guest.Status))
		default:
			w.Report.Doing(m.Name, "renews its certificates")
			if err := w.rotate(ctx, c, &m); err != nil {
				return fmt.Errorf("it stops at %s: %w", m.Name, err)
			}
		}
	}
	return errors.Join(left...)
}

// expired reports whether the certificate of a control plane has expired, by its own clock.
func (c *Cluster) expired(ctx context.Context) bool {
	return slices.ContainsFunc(c.servers(), func(m Member) bool {
		until, now, err := c.validUntil(ctx, &m)
		return err == nil && until.Before(now)
	})
}

// validUntil reads when the certificate of a control plane's API server expires, and the machine's clock.
func (c *Cluster) validUntil(ctx context.Context, m *Member) (until, now time.Time, err error) {
	text, err := c.in.ReadFile(ctx, m.Guest, c.distribution().data("server/tls/serving-kube-apiserver.crt"))
	if err != nil {
		return until, now, fmt.Errorf("%s: %w", m.Name, err)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return until, now, fmt.Errorf("%s: its certificate can't be read", m.Name)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return until, now, fmt.Errorf("%s: %w", m.Name, err)
	}
	now, err = c.clock(ctx, m)
	return cert.NotAfter, now, err
}

// revive renews the certificates of control planes that have expired, and returns these. They don't trust each other
// before all of them are renewed, etcd's members neither: none waits for the last one.
func (w *Work) revive(ctx context.Context, c *Cluster) ([]Node, error) {
	var nodes []Node
	since := map[string]time.Time{}
	for _, m := range c.servers() {
		w.Report.Doing(m.Name, "renews its certificates, which have expired")
		stopped, err := w.renew(ctx, c, &m)
		if err != nil {
			return nil, fmt.Errorf("it stops at %s: %w", m.Name, err)
		}
		nodes, since[m.Name] = append(nodes, m.Node), stopped
	}
	return nodes, w.awaitAll(ctx, c, nodes, expected{since: since})
}

// rotate renews the certificates of one machine. Others go on only when it is back: a control plane that
// is stopped is missing in etcd.
func (w *Work) rotate(ctx context.Context, c *Cluster, m *Member) error {
	if err := c.mayRestart(ctx, m); err != nil {
		return err
	}
	stopped, err := w.renew(ctx, c, m)
	if err != nil {
		return err
	}
	return w.awaitAll(ctx, c, []Node{m.Node}, expected{since: map[string]time.Time{m.Name: stopped}})
}

// renew has a machine renew its certificates, and start its service again. It returns when the service was stopped.
func (w *Work) renew(ctx context.Context, c *Cluster, m *Member) (time.Time, error) {
	unit := c.distribution().unit(m.Server())
	// One script: it goes on in the machine when this is interrupted, and no service stays stopped.
	script := fmt.Sprintf(`systemctl stop %[1]s && %[2]s certificate rotate || failed=yes; date %[3]s; systemctl start --no-block %[1]s; test "$failed" != yes`, unit, c.distribution().program(), clockFormat)
	out, err := output(ctx, w.In, m.Guest, "", "sh", "-c", script)
	if err != nil {
		return time.Time{}, err
	}
	return readClock(m, lastLines(out, 1))
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
	return c.readyBut(ctx, func(Member) bool { return false })
}

// mayRotate refuses to renew certificates while a machine is away. A worker that isn't ready may be so because
// its own have expired.
func (c *Cluster) mayRotate(ctx context.Context) error {
	_, err := c.readyBut(ctx, func(m Member) bool { return !m.Server() && m.Guest.Status == model.StatusRunning })
	return err
}

// readyBut are the nodes of a cluster, if each machine is one that is ready, but for those that may be otherwise.
func (c *Cluster) readyBut(ctx context.Context, may func(Member) bool) (map[string]corev1.Node, error) {
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, m := range c.Members {
		n, there := nodes[m.Name]
		if ready := there && has(n, string(corev1.NodeReady)) && m.Guest.Status == model.StatusRunning; !ready && !may(m) {
			return nil, fmt.Errorf("%s isn't ready; repair or replace it first", m.Name)
		}
	}
	return nodes, nil
}
