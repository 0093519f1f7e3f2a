package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Cluster is an existing cluster, as Proxmox has it.
type Cluster struct {
	Name    string
	Record  Record
	Members []Member // control planes first, in their order

	site  *site.Site
	in    Guests
	hosts int // nodes of Proxmox
}

// Member is a machine of a cluster that is in Proxmox.
type Member struct {
	Node
	Release Release // that it was made with, or upgraded to
	Guest   *model.Guest
	// Seeded means that its first-boot data exist: it has booted with them, or will.
	Seeded bool
	// Away means that its node in Proxmox doesn't answer: only its name is known.
	Away bool
}

// ErrNoCluster is the error for a name without a cluster.
var ErrNoCluster = errors.New("there is no such cluster")

// Find reads an existing cluster. Its name and the login to Proxmox are enough.
func Find(ctx context.Context, s *site.Site, in Guests, name string) (*Cluster, error) {
	c := &Cluster{Name: name, site: s, in: in}
	machines, err := s.List(ctx, Door, name)
	if err != nil {
		return nil, err
	}
	if err := s.View(ctx, func(have *model.Observed) { c.hosts = len(have.Nodes) }); err != nil {
		return nil, err
	}
	ids, err := untagged(ctx, s, name)
	if err != nil {
		return nil, err
	}
	for _, m := range machines {
		ids = append(ids, m.Guest.VMID)
	}
	away, err := power(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if away[id] {
			continue
		}
		g, err := known(ctx, s, id)
		if errors.Is(err, pve.ErrNodeUnreachable) {
			away[id] = true
			continue
		}
		if err != nil {
			return nil, err
		}
		if !isMachine(g, name) { // an image that isn't a template yet is named like one
			continue
		}
		own, ok := parseNotes(g.Config.Text)
		if !ok {
			return nil, fmt.Errorf("VM %d (%s): its notes in Proxmox no longer say what it is in cluster %s; somebody has changed them", g.VMID, g.Name, name)
		}
		c.Members = append(c.Members, Member{Node: own.Node, Release: own.Release, Guest: g, Seeded: seeded(g)})
		if own.Cluster == "" {
			continue
		}
		r, err := unpack(own.Cluster)
		if err != nil {
			return nil, fmt.Errorf("VM %d (%s): read the record of cluster %s in its notes: %w", g.VMID, g.Name, name, err)
		}
		if c.Record.File == nil || r.Generation > c.Record.Generation {
			c.Record = r
		}
	}
	if c.Record.File == nil && len(away) > 0 {
		return c, fmt.Errorf("cluster %s: machines that may be its control planes are on nodes of Proxmox that don't answer; wait until they are back", name)
	}
	if c.Record.File == nil {
		return c, unknown(ctx, s, name, len(c.Members))
	}
	for _, m := range machines { // a tag says that they are of this cluster; their notes can't be read
		if away[m.Guest.VMID] {
			c.Members = append(c.Members, c.awayMember(m.Guest))
		}
	}
	slices.SortFunc(c.Members, func(a, b Member) int {
		rank := func(m Member) int {
			if m.Server() {
				return 0
			}
			return 1
		}
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Pool, b.Pool), a.Index-b.Index)
	})
	return c, nil
}

// awayMember is a machine whose node doesn't answer. Proxmox doesn't know its name then: its tag tells which
// one it is.
func (c *Cluster) awayMember(g *model.Guest) Member {
	guest := *g
	guest.Status = model.StatusUnknown
	m := Member{Node: Node{Name: fmt.Sprintf("VM %d", g.VMID)}, Guest: &guest, Seeded: true, Away: true}
	id, _, _ := model.ParseStateTag(g.Tags)
	for _, n := range NodesOf(c.Record.File) {
		if n.Owner(c.Name).ID() == id {
			m.Node, guest.Name = n, n.Name
		}
	}
	return m
}

// errAway says of machines that nothing could be done to them; nil: of none.
func errAway(list []Member) error {
	var errs []error
	for _, m := range list {
		if m.Away {
			errs = append(errs, fmt.Errorf("%s stays as it is: its node %s doesn't answer; run the same command again when it is back", m.Name, m.Guest.Node))
		}
	}
	return errors.Join(errs...)
}

// known is a guest with its config. Where another list has cast doubt on whether it runs since that was
// asked, it is asked again.
func known(ctx context.Context, s *site.Site, id int) (*model.Guest, error) {
	g, err := s.Observer().Known(ctx, id)
	if err != nil || g == nil || g.Status != model.StatusUnknown {
		return g, err
	}
	if err := s.Observer().Status(ctx, id); err != nil {
		return nil, err
	}
	return s.Observer().Known(ctx, id)
}

// isMachine reports whether a guest is a machine of a cluster, by its marker.
func isMachine(g *model.Guest, cluster string) bool {
	if g == nil || g.Config == nil || g.Config.Marker == nil {
		return false
	}
	owner := g.Config.Marker.Owner
	return owner.Door == Door && owner.Set == cluster && owner.Kind == KindMachine
}

// untagged are guests that are named as a machine of a cluster is, and have lost the tag that lists go
// by. Their configs tell whether they are one.
func untagged(ctx context.Context, s *site.Site, name string) (ids []int, err error) {
	err = s.View(ctx, func(have *model.Observed) {
		for id, g := range have.Guests {
			if _, _, tagged := model.ParseStateTag(g.Tags); !tagged && !g.Template && !g.Container && strings.HasPrefix(g.Name, name+"-") {
				ids = append(ids, id)
			}
		}
	})
	slices.Sort(ids)
	return ids, err
}

// power asks which machines run right now: lists are some seconds late about that. It gives those whose
// nodes don't answer.
func power(ctx context.Context, s *site.Site, ids []int) (away map[int]bool, err error) {
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { errs[i] = s.Observer().Status(ctx, id) })
	}
	all.Wait()
	away = map[int]bool{}
	for i, id := range ids {
		if errors.Is(errs[i], pve.ErrNodeUnreachable) {
			away[id], errs[i] = true, nil
		}
	}
	return away, errors.Join(errs...)
}

// seeded reports whether a machine has its first-boot data: the drive with them is attached, or the machine
// runs, which it doesn't before it has them. Somebody may have removed the drive since.
func seeded(g *model.Guest) bool {
	if g.Status == model.StatusRunning {
		return true
	}
	return g.Config.Marker.Seed != "" && slices.ContainsFunc(g.Config.Disks, func(d model.Disk) bool { return d.Volume == g.Config.Marker.Seed })
}

// unknown says that there is no such cluster, and which there are.
func unknown(ctx context.Context, s *site.Site, name string, machines int) error {
	if machines > 0 {
		return fmt.Errorf("cluster %s has no control plane, and %d of its other machines: %w; remove what is left with: proxplane cluster destroy --cluster %s --force", name, machines, ErrNoCluster, name)
	}
	names, err := Names(ctx, s)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("cluster %s: %w: this Proxmox has none; make it with: proxplane cluster init --config FILE", name, ErrNoCluster)
	}
	hint := "there is " + strings.Join(names, ", ")
	if near, ok := suggest.Nearest(name, names); ok {
		hint = "did you mean " + near + "?"
	}
	return fmt.Errorf("cluster %s: %w; %s", name, ErrNoCluster, hint)
}

// Names returns the clusters that a Proxmox has.
func Names(ctx context.Context, s *site.Site) ([]string, error) {
	var ids []int
	if err := s.View(ctx, func(have *model.Observed) {
		for id, g := range have.Guests {
			if slices.Contains(g.Tags, "kubernetes") && slices.Contains(g.Tags, model.Tag) {
				ids = append(ids, id)
			}
		}
	}); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, id := range ids {
		owner, err := s.Owner(ctx, id)
		switch {
		case errors.Is(err, site.ErrNotFound):
		case err != nil:
			return nil, err
		case owner.Door == Door:
			names[owner.Set] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func (c *Cluster) distribution() *distribution {
	return distributions[c.Record.File.Kubernetes.Distribution]
}

// Member finds a machine by its name.
func (c *Cluster) Member(name string) (*Member, error) {
	var names []string
	for i := range c.Members {
		if c.Members[i].Name == name {
			return &c.Members[i], nil
		}
		names = append(names, c.Members[i].Name)
	}
	return nil, fmt.Errorf("cluster %s has no machine %s; %s", c.Name, name, suggest.DidYouMean(name, names))
}

// APIServer returns the URL of the cluster's API server.
func (c *Cluster) APIServer() string {
	return fmt.Sprintf("https://%s:%d", hostOf(c.Record.File.Provider.VIP), apiPort)
}
