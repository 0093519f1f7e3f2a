package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// InstallError is a failed installation, with the last lines of its log.
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

// expected is what machines are awaited with.
type expected struct {
	version string // of the kubelet; empty: any
	// since are moments by the machines' own clocks, by their names: a node is ready if its kubelet has
	// said so since then. What Kubernetes says of a node is otherwise up to a minute old, and as old as
	// the snapshot after etcd was restored.
	since map[string]time.Time
	// again are machines whose installation had failed before: it is tried once more.
	again map[string]Release
}

// awaitAll waits until machines are nodes that are ready.
func (w *Work) awaitAll(ctx context.Context, c *Cluster, nodes []Node, e expected) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience(), fmt.Errorf("not done after %s (--timeout); look at it with: proxplane cluster status --cluster %s, and run the same command again to go on", w.patience(), c.Name))
	defer cancel()
	errs, installed := make([]error, len(nodes)), make([]bool, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { installed[i], errs[i] = w.await(ctx, c, n, e) })
	}
	all.Wait()
	for i, n := range nodes { // not before: all of them read the members
		if m, err := c.Member(n.Name); err == nil && installed[i] {
			m.Release = e.again[n.Name]
		}
	}
	return errors.Join(errs...)
}

// await waits until a machine is a node that is ready, and tells what it waits for. It reports
// whether it has installed the release again.
func (w *Work) await(ctx context.Context, c *Cluster, n Node, e expected) (installed bool, err error) {
	m, err := c.Member(n.Name)
	if err != nil {
		return false, err
	}
	last := "the cluster"
	release, again := e.again[m.Name]
	for p := (pace{}); ; {
		ready, waits, err := w.look(ctx, c, m, e)
		var failed *InstallError
		if again && errors.As(err, &failed) {
			again = false
			w.Report.Doing(m.Name, "installs "+release.Version+" again, which had failed")
			if err := w.install(ctx, c, m, release); err != nil {
				return false, err
			}
			installed = true
			continue
		}
		switch {
		case errors.As(err, &failed), errors.Is(err, pve.ErrForbidden):
			return installed, err
		case ready:
			w.Report.Done(n.Name, "is a node that is ready")
			return installed, nil
		case err == nil:
			last = waits
			w.Report.Doing(n.Name, "waits for "+waits)
		}
		if err := w.vanished(ctx, c, m); err != nil {
			return installed, err
		}
		if err := p.next(ctx); err != nil {
			return installed, fmt.Errorf("%s: waits for %s: %w", n.Name, last, err)
		}
	}
}

// vanished reports that a machine can't become a node any more: somebody has destroyed it meanwhile, or all control
// planes that it was to join.
func (w *Work) vanished(ctx context.Context, c *Cluster, m *Member) error {
	there := map[int]bool{}
	if err := w.Site.View(ctx, func(have *model.Observed) {
		for _, m := range c.Members {
			there[m.Guest.VMID] = have.Guests[m.Guest.VMID] != nil
		}
	}); err != nil {
		return nil //nolint:nilerr // Proxmox may be back at the next look
	}
	if !there[m.Guest.VMID] {
		return fmt.Errorf("%s isn't in Proxmox any more: somebody has destroyed it; run the same command again to make it anew", m.Name)
	}
	left := Cluster{Members: slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool { return !there[m.Guest.VMID] })}
	if c.others(m.Node) && !left.others(m.Node) {
		return errAlone(m.Node, c.Name)
	}
	return nil
}

// look reports whether a machine is a node that is ready, or what it waits for.
func (w *Work) look(ctx context.Context, c *Cluster, m *Member, e expected) (ready bool, waits string, err error) {
	phase, err := w.In.Run(ctx, m.Guest, []string{"cat", phaseFile}, "")
	switch {
	case errors.Is(err, pve.ErrForbidden):
		return false, "", fmt.Errorf("%s: its guest agent: %w", m.Name, err)
	case err != nil:
		return false, "its guest agent", nil //nolint:nilerr // it comes with the first boot, and goes with a restart
	}
	if err := w.installFailed(ctx, m, phase.Out); err != nil {
		return false, "", err
	}
	if ready, waits = c.joined(ctx, m, e); ready || waits != "" {
		return ready, waits, nil
	}
	if phase.Code != 0 { // it is gone after a restart, too
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
		case !strings.Contains(status.Out, "done"):
			return false, "its installation to begin", err
		}
	} else if !strings.HasPrefix(phase.Out, "started") {
		return false, "its installation: " + oneLine(phase.Out), nil
	}
	unit := c.distribution().unit(m.Server())
	journal, err := w.In.Run(ctx, m.Guest, []string{"journalctl", "-u", unit, "-n", "1", "-o", "cat", "--no-pager"}, "")
	if line := oneLine(journal.Out); err == nil && line != "" {
		return false, unit + ": " + line, nil
	}
	return false, unit + " to join", nil
}

// joined reports whether Kubernetes has a machine as a node that is ready, or what it waits for. Both
// empty: Kubernetes doesn't know it, or doesn't answer.
func (c *Cluster) joined(ctx context.Context, m *Member, e expected) (ready bool, waits string) {
	nodes, err := c.kubeNodes(ctx, "")
	n, there := nodes[m.Name]
	switch {
	case err != nil || !there:
		return false, ""
	case e.version != "" && n.Status.NodeInfo.KubeletVersion != e.version:
		return false, fmt.Sprintf("%s to run, it has %s", e.version, n.Status.NodeInfo.KubeletVersion)
	case !has(n, string(corev1.NodeReady)):
		return false, "its node to become ready"
	case m.Server() && !isVoter(n):
		return false, "etcd to make it a voting member"
	}
	if since, ok := e.since[m.Name]; ok {
		renewed, err := c.renewed(ctx, m.Name)
		if err != nil || renewed.Before(since) {
			return false, "its kubelet to report again"
		}
	}
	return true, ""
}

// renewed is when a kubelet has last said that it is there, by its own clock.
func (c *Cluster) renewed(ctx context.Context, name string) (time.Time, error) {
	text, err := c.ask(ctx, "-n", corev1.NamespaceNodeLease, "get", "lease", name, "-o", "json")
	if err != nil {
		return time.Time{}, err
	}
	var lease coordinationv1.Lease
	if err := json.Unmarshal([]byte(text), &lease); err != nil {
		return time.Time{}, fmt.Errorf("read the lease of node %s: %w", name, err)
	}
	if lease.Spec.RenewTime == nil {
		return time.Time{}, nil
	}
	return lease.Spec.RenewTime.Time, nil
}

// clock reads the clock of a machine.
func (c *Cluster) clock(ctx context.Context, m *Member) (time.Time, error) {
	text, err := output(ctx, c.in, m.Guest, "", "date", clockFormat)
	if err != nil {
		return time.Time{}, err
	}
	return readClock(m, text)
}

// clockFormat has date print what readClock reads.
const clockFormat = "+%s.%N"

// readClock reads what date has printed in a machine.
func readClock(m *Member, text string) (time.Time, error) {
	whole, part, _ := strings.Cut(strings.TrimSpace(text), ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: read its clock: %w", m.Name, err)
	}
	nanos, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: read its clock: %w", m.Name, err)
	}
	return time.Unix(seconds, nanos).Truncate(time.Microsecond), nil // as leases have it
}

// installFailed is the failure that a machine tells of in its phase; nil: it tells of none.
func (w *Work) installFailed(ctx context.Context, m *Member, phase string) error {
	if reason := failure(phase); reason != "" {
		return w.installError(ctx, m, "its installation failed: "+reason)
	}
	return nil
}

// failure is why an installation has failed, by its phase; empty: it hasn't.
func failure(phase string) string {
	reason, failed := strings.CutPrefix(strings.TrimSpace(phase), "failed: ")
	if !failed {
		return ""
	}
	return reason
}

// installError is a failure with the last lines of the machine's log.
func (w *Work) installError(ctx context.Context, m *Member, reason string) error {
	log, _ := w.In.Run(ctx, m.Guest, []string{"tail", "-n", "10", "/var/log/cloud-init-output.log"}, "")
	return &InstallError{Machine: m.Name, Reason: reason, Log: lastLines(log.Out, 10)}
}
