package observe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Volumes reads the disks of the storages, whoever uses them, and which guests lack a disk or their
// first-boot data. Storages that can't be read are left out.
func (o *Observer) Volumes(ctx context.Context) error {
	var ask []place
	o.View(func(have *model.Observed) { ask = places(have, "images") })
	return o.disksAt(ctx, append(ask, o.seedPlaces()...), func(all model.Volumes) { o.have.Volumes = all })
}

// Disks reads the disks on the storages of a node; "": on those that nodes share. Storages that can't be read are left out.
func (o *Observer) Disks(ctx context.Context, node string) error {
	var ask []place
	o.View(func(have *model.Observed) {
		for _, p := range places(have, "images") {
			if shared := have.Storages[p.storage].Shared; shared && node == "" || !shared && p.node == node {
				ask = append(ask, p)
			}
		}
	})
	return o.disksAt(ctx, ask, func(all model.Volumes) { o.have.Disks = keep(o.have.Disks, node, all) })
}

// disksAt reads the disks at some places, and hands them to a function that takes them over.
func (o *Observer) disksAt(ctx context.Context, ask []place, take func(model.Volumes)) error {
	begun := time.Now()
	all := model.Volumes{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for _, p := range ask {
		wg.Go(func() {
			list, err := o.inspect(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case hopeless(ctx, err):
				failed = err
			case err == nil && p.content == "images":
				all[p.storage] = append(all[p.storage], list...)
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	if err := o.confirm(ctx); err != nil {
		return err
	}
	if err := o.findUnnamed(ctx, all); err != nil {
		return err
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b model.Volume) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID)) })
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, went := range o.gone {
		if went.After(begun) {
			return nil // the list may have disks of a guest that was destroyed meanwhile: whoever needs it asks again
		}
	}
	take(all)
	return nil
}

// hopeless reports whether an error means that nothing else can be read either.
func hopeless(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, pve.ErrUnauthorized) || ctx.Err() != nil)
}

// confirm verifies the guests that seem to lack a disk.
func (o *Observer) confirm(ctx context.Context) error {
	var ask []int
	o.mu.RLock()
	for vmid, r := range o.records {
		if r.doubtful() {
			ask = append(ask, vmid)
		}
	}
	o.mu.RUnlock()
	errs := make([]error, len(ask))
	var wg sync.WaitGroup
	for i, vmid := range ask {
		wg.Go(func() {
			if err := o.Verify(ctx, vmid); hopeless(ctx, err) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// inventory is which disks a place had when it was last asked.
type inventory struct {
	at    time.Time
	names map[string]bool // nil: it couldn't be read
}

// lists reports whether the inventory shows a disk, or is incomplete.
func (i inventory) lists(d model.Disk) bool {
	return i.names == nil || i.names[model.VolumeName(d.Volume)]
}

// home returns the place that has a disk of a guest, or its first-boot data; false: disks aren't looked for there.
func (o *Observer) home(r *record, d model.Disk) (place, bool) {
	s, node, content := o.have.Storages[d.Storage], r.listed.Node, "images"
	if d.CDROM {
		content = "iso"
	}
	if s == nil || d.CloudInit || d.CDROM && !r.seededBy(d) {
		return place{}, false
	}
	if s.Shared {
		node = firstNode(s, &o.have)
	}
	if _, active := s.OnNode[node]; !active || o.have.Nodes[node] == nil || !o.have.Nodes[node].Online {
		return place{}, false
	}
	return place{node, s.Name, content}, true
}

// seededBy reports whether a drive holds the first-boot data of the guest.
func (r *record) seededBy(d model.Disk) bool {
	return r.config.Marker != nil && d.Volume != "" && r.config.Marker.Seed == d.Volume
}

// seedPlaces returns the places that have first-boot data of guests.
func (o *Observer) seedPlaces() (list []place) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, r := range o.records {
		if r.config == nil {
			continue
		}
		for _, d := range r.config.Disks {
			if p, ok := o.home(r, d); ok && d.CDROM && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// inspect lists the disks of a place and notes which guests seem to lack one.
func (o *Observer) inspect(ctx context.Context, p place) ([]model.Volume, error) {
	found := inventory{at: time.Now()}
	list, err := o.client.Storage(p.node, p.storage).Content(ctx, pve.ContentFilter{Content: p.content})
	if hopeless(ctx, err) {
		return nil, err
	}
	var volumes []model.Volume
	if err == nil {
		found.names = make(map[string]bool, len(list))
	}
	for _, v := range list {
		volumes = append(volumes, model.Volume{ID: v.ID, Node: p.node, VMID: v.VMID, Parent: v.Parent, Created: v.Created})
		found.names[model.VolumeName(v.ID)] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inventories == nil {
		o.inventories = map[place]inventory{}
	}
	o.inventories[p] = found
	for vmid, r := range o.records {
		if r.config == nil || r.configAt.After(found.at) {
			continue // it may name disks that were made since
		}
		for _, d := range r.config.Disks {
			if at, ok := o.home(r, d); ok && at == p {
				r.lack(d.Volume, !found.lists(d), found.at)
				o.put(vmid)
				if _, listed := o.have.Files[d.Volume]; listed && !found.lists(d) {
					o.have.Files = nil // that list is older
				}
			}
		}
	}
	return volumes, err
}

// NextDisks returns a function that lists the disks of one storage of some guests: of those that are
// due, the one that was listed the longest ago. A storage that seems to lack a disk is due earlier.
// nil: none is due.
func (o *Observer) NextDisks(vmids []int, age, again time.Duration) (ask func(context.Context) error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	now := time.Now()
	var next *place
	for _, vmid := range vmids {
		r := o.records[vmid]
		if r == nil || r.config == nil {
			continue
		}
		for _, d := range r.config.Disks {
			p, ok := o.home(r, d)
			if !ok {
				continue
			}
			had := o.inventories[p]
			due := had.at.Add(age)
			if !had.lists(d) && !r.blind {
				due = had.at.Add(again)
			}
			if !now.Before(due) && (next == nil || had.at.Before(o.inventories[*next].at)) {
				next = &p
			}
		}
	}
	if next == nil {
		return nil
	}
	return func(ctx context.Context) error {
		_, err := o.inspect(ctx, *next)
		return err
	}
}
