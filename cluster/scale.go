package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/suggest"
)

// clone is a copy of a file that can be changed.
func (f *File) clone() (*File, error) {
	text, err := yaml.Marshal(f)
	if err != nil {
		return nil, err
	}
	out := &File{}
	return out, yaml.Unmarshal(text, out)
}

// Scale changes the number of machines of a pool: new ones join; surplus ones are drained, leave
// etcd and are destroyed, the last first, if agree agrees to how many that are.
func (w *Work) Scale(ctx context.Context, c *Cluster, pool string, count int, agree func(machines int) error) (*Cluster, error) {
	f, err := c.Record.File.clone()
	if err != nil {
		return c, err
	}
	p := f.Pool(pool)
	if p == nil {
		var names []string
		for _, p := range f.Pools() {
			names = append(names, p.Name)
		}
		return c, fmt.Errorf("cluster %s has no pool %q; %s", c.Name, suggest.Shortened(pool), suggest.DidYouMean(pool, names))
	}
	p.Count = &count
	if len(p.Addresses) > count {
		p.Addresses = p.Addresses[:count]
	}
	check := &reading{lines: map[string]int{}}
	check.check(f)
	if len(check.errs) > 0 {
		return c, check.errs
	}
	r := Record{Generation: c.Record.Generation + 1, File: f, Release: c.Record.Release}
	if err := w.checkMore(ctx, c, r); err != nil {
		return c, err
	}
	goes := slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool { return m.Pool != pool || m.Index < count })
	if len(goes) > 0 {
		if err := errAway(goes); err != nil {
			return c, fmt.Errorf("nothing is removed: %w", err)
		}
		nodes, err := c.kubeNodes(ctx, "")
		if err != nil {
			return c, fmt.Errorf("nothing is removed: %w", err)
		}
		if goes[0].Server() { // all of it is refused before any of it is done
			members, err := c.membersNow(ctx, nodes)
			if err != nil {
				return c, fmt.Errorf("nothing is removed: %w", err)
			}
			last := names(goes)
			slices.Reverse(last)
			if err := guardQuorum(members, last...); err != nil {
				return c, fmt.Errorf("nothing is removed: %w", err)
			}
		}
		if err := agree(len(goes)); err != nil {
			return c, err
		}
	}
	if c, err = w.writeRecord(ctx, c, r); err != nil {
		return c, err
	}
	for _, m := range slices.Backward(goes) {
		if err := w.leave(ctx, c, m); err != nil {
			return c, err
		}
		if c, err = w.destroyMachines(ctx, c, m); err != nil {
			return c, err
		}
	}
	return w.stages(ctx, c, r, nil)
}

// writeRecord has the control planes' notes say what is wanted from now on, and the control planes
// have what notes leave out.
func (w *Work) writeRecord(ctx context.Context, c *Cluster, r Record) (*Cluster, error) {
	wants := c.wanted(r, "")
	var nodes []Node
	for _, m := range c.Members {
		if r.File.Pool(m.Pool) != nil && m.Seeded && !m.Away {
			nodes = append(nodes, m.Node)
		}
	}
	want, err := wants.desired(nodes)
	if err != nil {
		return c, err
	}
	for i := range want.VMs { // one that is off stays off
		if at := slices.IndexFunc(c.Members, func(m Member) bool { return m.Name == want.VMs[i].Owner.Name }); c.Members[at].Guest.Status != model.StatusRunning {
			want.VMs[i].Power, want.VMs[i].WaitAddress = "", false
		}
	}
	if err := w.apply(ctx, want); err != nil {
		return c, err
	}
	if err := w.keepSecrets(ctx, c, r); err != nil {
		return c, err
	}
	return Find(ctx, w.Site, w.In, c.Name)
}

// leave takes a machine out of Kubernetes: what runs there moves, its node goes, and with it its
// membership of etcd. A machine that is gone is one without a guest.
func (w *Work) leave(ctx context.Context, c *Cluster, m Member) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience(), fmt.Errorf("not done after %s (--timeout); run the same command again to go on", w.patience()))
	defer cancel()
	if m.Server() && !slices.ContainsFunc(c.Members, func(o Member) bool { return o.Server() && o.Name != m.Name }) {
		return fmt.Errorf("%s isn't removed: %w: it is the only control plane; have others join before, with: proxplane cluster scale cp=3 --cluster %s", m.Name, ErrQuorum, c.Name)
	}
	nodes, err := c.kubeNodes(ctx, m.Name)
	if err != nil {
		return fmt.Errorf("%s isn't removed: %w", m.Name, err)
	}
	n, there := nodes[m.Name]
	if !there {
		return nil
	}
	if isMember(n) {
		members, err := c.membersNow(ctx, nodes)
		if err == nil {
			err = guardQuorum(members, m.Name)
		}
		if err != nil {
			return fmt.Errorf("%s isn't removed: %w", m.Name, err)
		}
	}
	if has(n, "Ready") && m.Guest != nil && m.Guest.Status == model.StatusRunning {
		if err := w.drain(ctx, c, m.Name); err != nil {
			return err
		}
	}
	w.Report.Doing(m.Name, "leaves the cluster")
	if _, err := c.askBut(ctx, m.Name, "", "delete", "node", m.Name); err != nil {
		return fmt.Errorf("%s: delete its node: %w", m.Name, err)
	}
	for p := (pace{}); ; { // its finalizer takes it out of etcd
		nodes, err := c.kubeNodes(ctx, m.Name)
		if _, still := nodes[m.Name]; err == nil && !still {
			return nil
		}
		if waited := p.next(ctx); waited != nil {
			return fmt.Errorf("%s: waits for its node to go: %w", m.Name, errors.Join(waited, err))
		}
	}
}

// drain moves what runs on a node to others.
func (w *Work) drain(ctx context.Context, c *Cluster, name string) error {
	w.Report.Doing(name, "is drained")
	if _, err := c.askBut(ctx, name, "", "drain", name, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=600s"); err != nil {
		return fmt.Errorf("%s: drain it: %w", name, err)
	}
	return nil
}

// destroyMachines destroys some machines of a cluster, and nothing else.
func (w *Work) destroyMachines(ctx context.Context, c *Cluster, list ...Member) (*Cluster, error) {
	want := model.Desired{Door: Door, Set: c.Name, Range: model.DefaultRange}
	for _, m := range list {
		want.VMs = append(want.VMs, model.VM{Owner: m.Owner(c.Name), Name: m.Name, Range: model.DefaultRange, Deleted: true, Destroy: true})
	}
	if err := w.apply(ctx, want); err != nil {
		return c, err
	}
	for _, m := range list {
		w.Report.Done(m.Name, "destroyed")
	}
	next, err := Find(ctx, w.Site, w.In, c.Name)
	if errors.Is(err, ErrNoCluster) {
		return next, nil
	}
	return next, err
}

// Destroy destroys all machines of a cluster if agree agrees to how many that are; with cleanup also their image.
func (w *Work) Destroy(ctx context.Context, name string, cleanup bool, agree func(machines int) error) (int, error) {
	c, err := Find(ctx, w.Site, w.In, name)
	if err != nil && (c == nil || !errors.Is(err, ErrNoCluster)) {
		return 0, err
	}
	if err != nil && len(c.Members) == 0 && !cleanup {
		return 0, err
	}
	if err := agree(len(c.Members)); err != nil {
		return 0, err
	}
	want := model.Desired{Door: Door, Set: name, Range: model.DefaultRange, Prune: true}
	away := errAway(c.Members)
	c.Members = slices.DeleteFunc(c.Members, func(m Member) bool { return m.Away })
	for _, m := range c.Members {
		want.VMs = append(want.VMs, model.VM{Owner: m.Owner(name), Name: m.Name, Range: model.DefaultRange, Deleted: true, Destroy: true})
	}
	f := &File{Name: name}
	if c.Record.File != nil {
		f = c.Record.File
	}
	image := model.Image{Owner: imageOwner(name), URL: f.Provider.Image.URL, Storage: f.Provider.Datastore, Range: model.DefaultRange, Deleted: cleanup}
	if image.URL == "" {
		image.URL = DefaultImage
	}
	if f.Provider.Template == "" && (cleanup || len(c.Members) > 0) {
		want.Images = []model.Image{image}
	}
	if !cleanup || away != nil { // what is left is made from it
		want.Images, want.Prune = nil, false
	}
	return len(c.Members), errors.Join(w.apply(ctx, want), away)
}
