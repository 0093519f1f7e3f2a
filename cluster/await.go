package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// InstallError is an installation that has failed, with what its machine says about it.
type InstallError struct {
	Machine, Reason string
	Log             string // last lines
}

func (e *InstallError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Machine, e.Reason)
	if e.Log != "" {
		text += "\n    " + strings.ReplaceAll(e.Log, "\n", "\n    ")
	}
	return text
}

// awaitAll waits until machines are nodes that are ready; with a version, until they run that.
func (w *Work) awaitAll(ctx context.Context, c *Cluster, nodes []Node, version string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience(), fmt.Errorf("not done after %s", w.patience()))
	defer cancel()
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = w.await(ctx, c, n, version) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// await waits until a machine is a node that is ready, and tells what it waits for.
func (w *Work) await(ctx context.Context, c *Cluster, n Node, version string) error {
	m, err := c.Member(n.Name)
	if err != nil {
		return err
	}
	last := "the cluster"
	for p := (pace{}); ; {
		ready, waits, err := w.look(ctx, c, m, version)
		var failed *InstallError
		switch {
		case errors.As(err, &failed):
			return err
		case ready:
			w.Report.Done(n.Name, "is a node that is ready")
			return nil
		case err == nil:
			last = waits
			w.Report.Doing(n.Name, "waits for "+waits)
		}
		if err := p.next(ctx); err != nil {
			return fmt.Errorf("%s: waits for %s: %w", n.Name, last, err)
		}
	}
}

// look reports whether a machine is a node that is ready, or what it waits for.
func (w *Work) look(ctx context.Context, c *Cluster, m *Member, version string) (ready bool, waits string, err error) {
	phase, err := w.In.Run(ctx, m.Guest, []string{"cat", phaseFile}, "")
	if err != nil {
		return false, "its guest agent", nil //nolint:nilerr // it comes with the first boot, and goes with a restart
	}
	if err := w.installFailed(ctx, m, phase.Out); err != nil {
		return false, "", err
	}
	if phase.Code != 0 {
		status, err := w.In.Run(ctx, m.Guest, []string{"cloud-init", "status"}, "")
		switch {
		case err == nil && strings.Contains(status.Out, "error"):
			phase, _ = w.In.Run(ctx, m.Guest, []string{"cat", phaseFile}, "") // it may have come meanwhile
			if err := w.installFailed(ctx, m, phase.Out); err != nil {
				return false, "", err
			}
			return false, "", w.installError(ctx, m, "cloud-init failed")
		case strings.Contains(status.Out, "running"):
			return false, "cloud-init (" + oneLine(status.Out) + ")", err
		}
		return false, "its installation to begin", err
	}
	if nodes, err := c.kubeNodes(ctx, ""); err == nil {
		n, there := nodes[m.Name]
		switch {
		case there && version != "" && n.Status.NodeInfo.KubeletVersion != version:
			return false, fmt.Sprintf("%s to run, it has %s", version, n.Status.NodeInfo.KubeletVersion), nil
		case there && has(n, string(corev1.NodeReady)) && (!m.Server() || isVoter(n)):
			return true, "", nil
		case there && has(n, string(corev1.NodeReady)):
			return false, "etcd to make it a voting member", nil
		case there:
			return false, "its node to become ready", nil
		}
	}
	if !strings.HasPrefix(phase.Out, "started") {
		return false, "its installation: " + oneLine(phase.Out), nil
	}
	unit := c.distribution().unit(m.Server())
	journal, err := w.In.Run(ctx, m.Guest, []string{"journalctl", "-u", unit, "-n", "1", "-o", "cat", "--no-pager"}, "")
	if line := oneLine(journal.Out); err == nil && line != "" {
		return false, unit + ": " + line, nil
	}
	return false, unit + " to join", nil
}

// installFailed is the failure that a machine tells of in its phase; nil: it tells of none.
func (w *Work) installFailed(ctx context.Context, m *Member, phase string) error {
	if reason, failed := strings.CutPrefix(strings.TrimSpace(phase), "failed: "); failed {
		return w.installError(ctx, m, "its installation failed: "+reason)
	}
	return nil
}

// installError is a failure with the last lines of the machine's log.
func (w *Work) installError(ctx context.Context, m *Member, reason string) error {
	log, _ := w.In.Run(ctx, m.Guest, []string{"tail", "-n", "10", "/var/log/cloud-init-output.log"}, "")
	return &InstallError{Machine: m.Name, Reason: reason, Log: lastLines(log.Out, 10)}
}
