package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Init creates a cluster, continues with an incomplete one, or brings an existing one in line with
// its file. It destroys nothing: use Scale for fewer machines.
func (w *Work) Init(ctx context.Context, f *File) (*Cluster, error) {
	c, err := Find(ctx, w.Site, w.In, f.Name)
	if err != nil && !errors.Is(err, ErrNoCluster) {
		return nil, err
	}
	r, err := w.next(ctx, c, f)
	if err != nil {
		return nil, err
	}
	had := c.Record.File != nil && c.Record.File.lacksSecrets()
	if w.Restart && c.Record.File != nil {
		if c, err = w.resize(ctx, c, r); err != nil {
			return c, err
		}
	}
	if c, err = w.stages(ctx, c, r, nil); err == nil && had && !f.hasSecrets() {
		err = w.dropSecrets(ctx, c)
	}
	return c, err
}

// Foresee reports what would be wrong with a file, as Init does before it makes anything.
func (w *Work) Foresee(ctx context.Context, f *File) error {
	c, err := Find(ctx, w.Site, w.In, f.Name)
	if err != nil && !errors.Is(err, ErrNoCluster) {
		return err
	}
	_, err = w.next(ctx, c, f)
	return err
}

// next is the record of a cluster once it is as a file says. Nothing is made before it is checked.
func (w *Work) next(ctx context.Context, c *Cluster, f *File) (Record, error) {
	r := Record{Generation: c.Record.Generation, File: f, Release: c.Record.Release}
	was := c.Record.File
	if was == nil {
		if len(c.Members) > 0 {
			return r, fmt.Errorf("cluster %s has machines of an earlier one: %w", f.Name, ErrNoCluster)
		}
		if err := w.Check(ctx, f); err != nil {
			return r, err
		}
		var err error
		r.Generation = 1
		r.Release, err = Resolve(ctx, f.Kubernetes)
		return r, err
	}
	if err := mayChange(was, f, c.Record.Release); err != nil {
		return r, err
	}
	if k := f.Kubernetes; k.Source != was.Kubernetes.Source || k.Checksum != was.Kubernetes.Checksum {
		k.Version = c.Record.Release.Version
		var err error
		if r.Release, err = Resolve(ctx, k); err != nil { // the same one, from elsewhere
			return r, err
		}
	}
	for _, m := range c.Members {
		if p := f.Pool(m.Pool); p == nil || m.Index >= *p.Count {
			return r, fmt.Errorf("%s is more than the file wants, and init removes nothing; remove it with: proxplane cluster scale %s=%d --cluster %s", m.Name, m.Pool, countOf(f, m.Pool), f.Name)
		}
	}
	if err := w.checkMore(ctx, c, r); err != nil {
		return r, err
	}
	before, err := Record{Generation: r.Generation, File: was, Release: r.Release}.pack()
	if err != nil {
		return r, err
	}
	after, err := r.pack()
	if before != after || c.otherSecrets(ctx, f) {
		r.Generation++
	}
	return r, err
}

// countOf is how many machines of a pool a file wants.
func countOf(f *File, pool string) int {
	if p := f.Pool(pool); p != nil {
		return *p.Count
	}
	return 0
}

// mayChange refuses what can't change once a cluster is made.
func mayChange(was, is *File, runs Release) error {
	version := was.Kubernetes.Version
	if runs.isMeantBy(is.Kubernetes.Version) { // it is only written in another way
		version = is.Kubernetes.Version
	}
	for _, c := range []struct{ field, was, is, how string }{
		{"provider.vip", was.Provider.VIP, is.Provider.VIP, "everybody has joined through it"},
		{"kubernetes.distribution", was.Kubernetes.Distribution, is.Kubernetes.Distribution, "make another cluster"},
		{"kubernetes.cni", was.Kubernetes.CNI, is.Kubernetes.CNI, "make another cluster"},
		{"kubernetes.podCIDR", was.Kubernetes.PodCIDR, is.Kubernetes.PodCIDR, "make another cluster"},
		{"kubernetes.serviceCIDR", was.Kubernetes.ServiceCIDR, is.Kubernetes.ServiceCIDR, "make another cluster"},
		{"kubernetes.version", version, is.Kubernetes.Version, "it runs " + runs.Version + ": write that into the file, or upgrade it with: proxplane cluster upgrade --cluster " + is.Name + " --version VERSION"},
	} {
		if c.was != c.is {
			return fmt.Errorf("%s: is %q and can't become %q; %s", c.field, c.was, c.is, c.how)
		}
	}
	for _, p := range is.Pools() {
		if had := was.Pool(p.Name); had != nil && p.Disk < had.Disk && *had.Count > 0 {
			return fmt.Errorf("%s.disk: is %d and can't become %d: Proxmox shrinks no disk; have a further pool of machines with smaller ones", fieldOf(is, p), had.Disk, p.Disk)
		}
	}
	return nil
}

// stages makes the machines of a record in their order: the first control plane, the others one by
// one, since etcd takes one new member at a time, then all workers at once. restored is called once
// the first control plane is there, if it makes the cluster.
func (w *Work) stages(ctx context.Context, c *Cluster, r Record, restored func(context.Context, *Cluster) error) (*Cluster, error) {
	c.Name, c.site, c.in = r.File.Name, w.Site, w.In
	if c.Record.File == nil {
		c.Record = r
	}
	token, err := w.token(ctx, c, r)
	if err != nil {
		return c, err
	}
	return w.stagesWith(ctx, c, r, token, restored)
}

func (w *Work) stagesWith(ctx context.Context, c *Cluster, r Record, token string, restored func(context.Context, *Cluster) error) (*Cluster, error) {
	var workers []Node
	var err error
	for _, n := range NodesOf(r.File) {
		if m, err := c.Member(n.Name); err == nil && m.Away {
			continue // it is told in the end
		}
		if !n.Server() {
			workers = append(workers, n)
			continue
		}
		first := !c.begun()
		next, err := w.makeNodes(ctx, c, r, token, []Node{n})
		if err != nil {
			return c, err
		}
		c = next
		if first && restored != nil {
			if err := restored(ctx, c); err != nil {
				return c, err
			}
		}
		if first { // somebody else may have made it at the same time, with another token
			if token, err = w.readToken(ctx, c, c.servers()); err != nil {
				return c, err
			}
		}
	}
	if len(workers) > 0 {
		if c, err = w.makeNodes(ctx, c, r, token, workers); err != nil {
			return c, err
		}
	}
	if c, err = w.writeRecord(ctx, c, r); err != nil { // from now on they are machines that are there
		return c, err
	}
	return c, errAway(c.Members)
}

// begun reports whether a cluster has a control plane that has booted, or will.
func (c *Cluster) begun() bool {
	return slices.ContainsFunc(c.Members, func(m Member) bool { return m.Server() && m.Seeded })
}

// token is the secret of a cluster: read from a control plane that has it, or a new one if nobody has.
func (w *Work) token(ctx context.Context, c *Cluster, r Record) (string, error) {
	servers := slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool { return !m.Server() || !m.Seeded || m.Away })
	if len(servers) == 0 {
		for _, m := range c.Members { // it was made with a token that only control planes have
			if m.Seeded {
				return "", fmt.Errorf("the token of cluster %s isn't known: its control planes are off and have lost their first-boot data; start one with: proxplane power on NAME", c.Name)
			}
		}
		return newToken(), nil
	}
	if token, err := w.readToken(ctx, c, servers); err == nil {
		return token, nil
	}
	// They may be off, or still booting: they are told to be on, as they are.
	wants := c.wanted(r, "")
	var nodes []Node
	for _, m := range servers {
		nodes = append(nodes, m.Node)
	}
	want, err := wants.desired(nodes)
	if err != nil {
		return "", err
	}
	if err := w.apply(ctx, want); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience(), errors.New("no control plane tells the token"))
	defer cancel()
	for p := (pace{}); ; {
		token, err := w.readToken(ctx, c, servers)
		if err == nil {
			return token, nil
		}
		w.Report.Doing(servers[0].Name, "waits for its guest agent, which tells the token")
		if waited := p.next(ctx); waited != nil {
			return "", errors.Join(waited, err)
		}
	}
}

func (w *Work) readToken(ctx context.Context, c *Cluster, servers []Member) (token string, err error) {
	for _, m := range servers {
		if token, err = tokenOf(ctx, w.In, m.Guest, c.distribution()); err == nil {
			return token, nil
		}
	}
	return "", err
}
