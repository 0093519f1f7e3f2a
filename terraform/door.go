package terraform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
)

// Door is whose the machines are that this door makes.
const Door = "terraform"

// Address is where configurations that run it from a mirror have it from.
const Address = "terraform.local/" + Name + "/" + Name

// door is a configured provider: one Proxmox cluster, and what all resources want of it.
type door struct {
	config config
	plans  batches

	mu       sync.Mutex
	site     *site.Site // nil: nobody has asked for it yet
	parts    map[model.Key]model.Desired
	versions map[model.Key]int64
	planned  map[model.Key]model.Desired // what was planned last
	looked   time.Time                   // since when what was seen is good enough for plans
}

func newDoor(c config) *door {
	d := &door{config: c, parts: map[model.Key]model.Desired{}, versions: map[model.Key]int64{}, planned: map[model.Key]model.Desired{}}
	d.plans.plan = d.planAll
	return d
}

// opened is the site that a connection leads to. All resources have the same.
func (d *door) opened(c manifest.Connection) (*site.Site, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.site != nil {
		return d.site, nil
	}
	s, err := site.Open(site.Config{Proxmox: c.Config(), SSH: c.SSH, Keys: c.Keys}, site.Options{Door: Door, Set: d.config.set, Options: engine.Options{}})
	if err != nil {
		return nil, err
	}
	d.site = s
	return s, nil
}

// want says what a resource wants from now on, in place of what it wanted before.
func (d *door) want(s *site.Site, part model.Key, want model.Desired) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range keys(want) {
		d.versions[k]++
	}
	d.parts[part] = want
	s.Want(d.all(), maps.Clone(d.versions))
}

// forget says that a resource wants nothing any more.
func (d *door) forget(s *site.Site, part model.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.parts, part)
	s.Want(d.all(), maps.Clone(d.versions))
}

// all is what all resources want together.
func (d *door) all() model.Desired {
	parts := make([]model.Desired, 0, len(d.parts))
	for _, k := range slices.SortedFunc(maps.Keys(d.parts), func(a, b model.Key) int { return strings.Compare(a.String(), b.String()) }) {
		parts = append(parts, d.parts[k])
	}
	return merged(parts)
}

// merged is what several resources want together. An image that several machines name is wanted
// once: by its own resource, if that is among them.
func merged(parts []model.Desired) model.Desired {
	var all model.Desired
	seen := map[model.Key]bool{}
	for _, p := range parts {
		all.Set, all.Door, all.Range = p.Set, p.Door, p.Range
		all.VMs, all.Snapshots = append(all.VMs, p.VMs...), append(all.Snapshots, p.Snapshots...)
		for _, i := range p.Images {
			if !seen[i.Owner.Key] {
				all.Images = append(all.Images, i)
			}
			seen[i.Owner.Key] = true
		}
		for _, s := range p.Shares {
			if !seen[s.Owner.Key] {
				all.Shares = append(all.Shares, s)
			}
			seen[s.Owner.Key] = true
		}
		for _, g := range p.Groups {
			if !seen[g.Owner.Key] {
				all.Groups = append(all.Groups, g)
			}
			seen[g.Owner.Key] = true
		}
	}
	return all
}

// keys are the objects that are wanted.
func keys(want model.Desired) (all []model.Key) {
	for _, v := range want.VMs {
		all = append(all, v.Owner.Key)
	}
	for _, i := range want.Images {
		all = append(all, i.Owner.Key)
	}
	for _, s := range want.Snapshots {
		all = append(all, s.Owner.Key)
	}
	return all
}

// settle waits until some objects are as they are wanted.
func (d *door) settle(ctx context.Context, s *site.Site, owners []model.Owner, until site.Until) (map[model.Key]site.Outcome, error) {
	outcomes := map[model.Key]site.Outcome{}
	for _, o := range owners {
		out, err := s.Await(ctx, o, until)
		if err != nil {
			return outcomes, fmt.Errorf("%w", err)
		}
		outcomes[o.Key] = out
	}
	return outcomes, nil
}
