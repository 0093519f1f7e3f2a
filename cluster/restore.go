package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/model"
)

// Restore restores a backup: into the existing cluster, or into a new one if it is gone. Later changes
// are lost. It can be interrupted, and called again.
func (w *Work) Restore(ctx context.Context, b *Backup) (*Cluster, error) {
	c, err := Find(ctx, w.Site, w.In, b.Record.File.Name)
	switch {
	case errors.Is(err, ErrNoCluster) && len(c.Members) == 0:
		if err := w.Check(ctx, b.Record.File); err != nil {
			return c, err
		}
		return w.restoreAnew(ctx, c, b)
	case err != nil:
		return c, err
	}
	if !c.begun() { // it was interrupted at once
		return w.restoreAnew(ctx, c, b)
	}
	token, err := w.token(ctx, c, c.Record)
	if err != nil {
		return c, err
	}
	if token != b.Token {
		return c, fmt.Errorf("the backup is of another cluster named %s; destroy this one first, or restore from a backup of its own", c.Name)
	}
	if err := w.restoreIn(ctx, c, b); err != nil {
		return c, err
	}
	return w.stagesWith(ctx, c, c.Record, token, nil) // those that are missing
}

// restoreAnew makes the cluster again. Its first control plane starts from the snapshot, the others join
// it.
func (w *Work) restoreAnew(ctx context.Context, c *Cluster, b *Backup) (*Cluster, error) {
	c.Name, c.site, c.in, c.Record = b.Record.File.Name, w.Site, w.In, b.Record
	return w.stagesWith(ctx, c, b.Record, b.Token, func(ctx context.Context, c *Cluster) error { return w.restoreIn(ctx, c, b) })
}

// restoreIn stops the control planes, has the first one start from the snapshot and the others join it
// anew.
func (w *Work) restoreIn(ctx context.Context, c *Cluster, b *Backup) error {
	d := c.distribution()
	var servers, workers []Member
	for _, m := range c.Members { // before anything is stopped
		switch {
		case !m.Seeded:
			continue // it has never booted, and joins later
		case m.Guest.Status != model.StatusRunning:
			return fmt.Errorf("nothing is restored: %s is %s; start it with: proxplane power on %s, or destroy VM %d in Proxmox if it is lost, and it is made anew", m.Name, m.Guest.Status, m.Name, m.Guest.VMID)
		case m.Server():
			servers = append(servers, m)
		default:
			workers = append(workers, m)
		}
	}
	first := servers[0]
	w.Report.Doing(first.Name, "gets the snapshot")
	if err := writeLarge(ctx, w.In, first.Guest, restoreFile, b.Snapshot); err != nil {
		return err
	}
	if err := c.writeResetConfig(ctx, first); err != nil {
		return err
	}
	for _, m := range servers {
		w.Report.Doing(m.Name, "stops "+d.unit(true))
		if _, err := output(ctx, w.In, m.Guest, "", "systemctl", "stop", d.unit(true)); err != nil {
			return err
		}
	}
	w.Report.Doing(first.Name, "restores the snapshot")
	if _, err := output(ctx, w.In, first.Guest, "", d.program(), "server", "--config="+resetConfig, "--cluster-reset", "--cluster-reset-restore-path="+restoreFile); err != nil {
		return fmt.Errorf("%w; the control planes are stopped: run the same command again once the cause is gone", err)
	}
	for i, m := range servers {
		if i > 0 { // what it has of etcd is of another time
			if _, err := output(ctx, w.In, m.Guest, "", "rm", "-rf", d.data("server/db/etcd")); err != nil {
				return err
			}
		}
		if err := w.startAgain(ctx, c, &m); err != nil {
			return err
		}
		if i == 0 {
			if err := w.dropOthers(ctx, c, first.Name); err != nil {
				return err
			}
		}
	}
	if _, err := output(ctx, w.In, first.Guest, "", "rm", "-f", restoreFile, resetConfig); err != nil {
		return err
	}
	return w.restartWorkers(ctx, c, workers)
}

// Files in the control plane that a snapshot is restored in, meanwhile.
const (
	restoreFile = "/var/lib/rancher/proxplane-restore"
	resetConfig = restoreFile + ".yaml"
)

// writeResetConfig writes the config of a control plane without the address that it has joined at: both
// distributions refuse to reset etcd with it. Machines that were replaced have it, the first one, too.
func (c *Cluster) writeResetConfig(ctx context.Context, m Member) error {
	text, err := c.in.ReadFile(ctx, m.Guest, c.distribution().config("config.yaml"))
	config := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal([]byte(text), &config)
	}
	if err != nil {
		return fmt.Errorf("%s: read its config.yaml: %w", m.Name, err)
	}
	delete(config, "server")
	without, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return writeLarge(ctx, c.in, m.Guest, resetConfig, without)
}

// dropOthers removes the nodes that a snapshot has beside the one that it was restored in. Kubernetes knows
// them by passwords of that time: machines that were made anew since, or will be, couldn't join
// otherwise. Those that are the same join again.
func (w *Work) dropOthers(ctx context.Context, c *Cluster, first string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience(), fmt.Errorf("not done after %s (--timeout); run the same command again to go on", w.patience()))
	defer cancel()
	nodes, err := c.kubeNodes(ctx, "")
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if name == first {
			continue
		}
		if _, err := c.ask(ctx, "delete", "node", name, "--wait=false"); err != nil {
			return fmt.Errorf("%s: delete its node: %w", name, err)
		}
	}
	w.Report.Doing(first, "waits for the nodes of the snapshot to go")
	for p := (pace{}); ; { // a kubelet that finds its old node makes no new one
		now, err := c.kubeNodes(ctx, "")
		if err == nil && !slices.ContainsFunc(slices.Collect(maps.Values(now)), func(n corev1.Node) bool { return n.Name != first && n.UID == nodes[n.Name].UID }) {
			return nil
		}
		if waited := p.next(ctx); waited != nil {
			return errors.Join(fmt.Errorf("%s waits for the nodes of the snapshot to go: %w", first, waited), err)
		}
	}
}

// restartWorkers has workers connect to a control plane that knows what it knew when the snapshot was taken.
func (w *Work) restartWorkers(ctx context.Context, c *Cluster, workers []Member) error {
	var nodes []Node
	since := map[string]time.Time{}
	for _, m := range workers {
		if _, err := output(ctx, w.In, m.Guest, "", "systemctl", "restart", "--no-block", c.distribution().unit(false)); err != nil {
			return err
		}
		now, err := c.clock(ctx, &m)
		if err != nil {
			return err
		}
		nodes, since[m.Name] = append(nodes, m.Node), now
	}
	return w.awaitAll(ctx, c, nodes, expected{since: since})
}
