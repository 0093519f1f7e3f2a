package cluster

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// Upgrade installs another release on all machines: control planes one by one, then workers one by
// one, each drained before and back afterwards. It stops at the first that fails, and goes on from
// there when it is called again.
// The checksum is that of the release; empty: as its source says.
func (w *Work) Upgrade(ctx context.Context, c *Cluster, to, checksum string) (*Cluster, error) {
	f, err := c.Record.File.clone()
	if err != nil {
		return c, err
	}
	f.Kubernetes.Version, f.Kubernetes.Checksum = to, checksum
	check := &reading{lines: map[string]int{}}
	check.checkKubernetes(&f.Kubernetes)
	if len(check.errs) > 0 {
		return c, check.errs
	}
	release, err := Resolve(ctx, f.Kubernetes)
	if err != nil {
		return c, err
	}
	return w.upgradeTo(ctx, c, f, release)
}

func (w *Work) upgradeTo(ctx context.Context, c *Cluster, f *File, release Release) (*Cluster, error) {
	nodes, err := c.allReady(ctx)
	if err != nil {
		return c, fmt.Errorf("nothing is upgraded: %w", err)
	}
	for _, m := range c.Members { // an upgrade that was interrupted has left several versions
		if err := mayUpgrade(nodes[m.Name].Status.NodeInfo.KubeletVersion, release.Version); err != nil {
			return c, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	r := Record{Generation: c.Record.Generation + 1, File: f, Release: release}
	if r.Release == c.Record.Release {
		r.Generation--
	}
	if c, err = w.writeRecord(ctx, c, r); err != nil {
		return c, err
	}
	for _, name := range names(c.Members) {
		m, err := c.Member(name)
		if err != nil {
			return c, err
		}
		switch n := nodes[name]; {
		case n.Status.NodeInfo.KubeletVersion != release.Version:
			err = w.aside(ctx, c, m, func() error { return w.upgrade(ctx, c, m, release) })
		case n.Spec.Unschedulable: // an upgrade that was interrupted has left it so
			_, err = c.ask(ctx, "uncordon", name)
		}
		if err != nil {
			return c, fmt.Errorf("the upgrade stops at %s: %w", name, err)
		}
		if m.Release.Version != release.Version { // an upgrade that was interrupted has installed it
			m.Release = release
		}
	}
	return w.writeRecord(ctx, c, r)
}

func names(list []Member) (out []string) {
	for _, m := range list {
		out = append(out, m.Name)
	}
	return out
}

// upgrade installs a release on one machine.
func (w *Work) upgrade(ctx context.Context, c *Cluster, m *Member, release Release) error {
	w.Report.Doing(m.Name, "installs "+release.Version)
	if err := w.install(ctx, c, m, release); err != nil {
		return err
	}
	m.Release = release
	return w.awaitAll(ctx, c, []Node{m.Node}, expected{version: release.Version})
}

// install has a machine fetch a release, and start it.
func (w *Work) install(ctx context.Context, c *Cluster, m *Member, release Release) error {
	if err := w.In.WriteFile(ctx, m.Guest, releaseFile, releaseText(c.distribution(), release, m.Server())); err != nil {
		return err
	}
	if err := w.writeImages(ctx, c.Record.File, m); err != nil {
		return err
	}
	var failed *RunError
	if _, err := output(ctx, w.In, m.Guest, "", nodeProgram); errors.As(err, &failed) {
		phase, _ := w.In.Run(ctx, m.Guest, []string{"cat", phaseFile}, "") // it says why
		if reason := failure(phase.Out); reason != "" {
			return &InstallError{Machine: m.Name, Reason: "its installation failed: " + reason, Log: failed.Said}
		}
		return err
	} else if err != nil {
		return err
	}
	return nil
}

// writeImages has a machine fetch the archives of images that the file names now: those of another release are
// others.
func (w *Work) writeImages(ctx context.Context, f *File, m *Member) error {
	if text := imagesText(f); text != "" {
		return w.In.WriteFile(ctx, m.Guest, imagesFile, text)
	}
	_, err := output(ctx, w.In, m.Guest, "", "rm", "-f", imagesFile)
	return err
}

// mayUpgrade refuses what Kubernetes doesn't support: to go back, or to skip a minor version.
func mayUpgrade(from, to string) error {
	was, err := version.ParseGeneric(from)
	if err != nil {
		return err
	}
	is, err := version.ParseGeneric(to)
	switch {
	case err != nil:
		return err
	case is.Major() != was.Major() || is.Minor() > was.Minor()+1:
		return fmt.Errorf("%s → %s: Kubernetes is upgraded one minor version at a time; go to %d.%d first", from, to, was.Major(), was.Minor()+1)
	case is.LessThan(was):
		return fmt.Errorf("%s → %s: Kubernetes can't be downgraded; if you have a backup of that time, destroy the cluster and restore it", from, to)
	}
	return nil
}
