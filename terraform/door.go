package terraform

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// Door is whose the machines are that this door makes.
const Door = "terraform"

// Address is where configurations that run it from a mirror have it from.
const Address = "terraform.local/" + Name + "/" + Name

// door is a configured provider: one Proxmox cluster, and what all resources want of it.
type door struct {
	config config
	open   opener
	plans  batches
	claims *claims

	mu       sync.Mutex
	site     *site.Site // nil: nobody has asked for it yet
	parts    map[model.Key]model.Desired
	versions map[model.Key]int64
	planned  map[model.Key]wanting // what was planned last
	coming   map[int]bool          // VMIDs of what was planned
	asked    map[model.Key]bool    // new machines of which it was asked whether their VMIDs are free
	picture  *engine.Picture       // what was seen that is good enough for plans

	away      error // why nothing could be read of Proxmox so far
	awaySince time.Time
}

func newDoor(c config, open opener) *door {
	d := &door{config: c, open: open, claims: newClaims(c.set), parts: map[model.Key]model.Desired{}, versions: map[model.Key]int64{}, planned: map[model.Key]wanting{}, coming: map[int]bool{}, asked: map[model.Key]bool{}}
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
	s, err := d.open(site.Config{Proxmox: c.Config(), SSH: c.SSH, Keys: c.Keys}, site.Options{Door: Door, Set: d.config.set, Options: engine.Options{}})
	if err != nil {
		return nil, &blockError{err}
	}
	d.site = s
	return s, nil
}

// expects notes which VMIDs plans have shown.
func (d *door) expects(objects []plan.Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range objects {
		if o.VMID != 0 {
			d.coming[o.VMID] = true
		}
	}
}

// unmade reports whether a VM isn't there yet and is to be made by another resource.
func (d *door) unmade(ctx context.Context, s *site.Site, vmid int) (is bool, err error) {
	d.mu.Lock()
	coming := d.coming[vmid]
	d.mu.Unlock()
	if !coming {
		return false, nil
	}
	err = s.View(ctx, func(have *model.Observed) { is = have.Guests[vmid] == nil })
	return is, err
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
	delete(d.planned, part)
	s.Want(d.all(), maps.Clone(d.versions))
}

// all is what all resources want together.
func (d *door) all() model.Desired { return merged(d.parts) }

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

// settle waits for each of some objects until it is as it is wanted, or can't get there. What fails with one keeps none of the others from
// being finished: the provider ends when nobody waits any more.
func (d *door) settle(ctx context.Context, s *site.Site, owners []model.Owner, until site.Until) (outcomes map[model.Key]site.Outcome, errs []error) {
	outcomes = map[model.Key]site.Outcome{}
	for _, o := range owners {
		out, err := s.Await(ctx, o, until)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		outcomes[o.Key] = out
	}
	return outcomes, errs
}
