package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
)

// ErrNotFound is the error for an owner without a machine.
var ErrNotFound = errors.New("it has no machine")

// Machine is a machine of ours in Proxmox.
type Machine struct {
	// Owner is the machine's owner. For machines from [Site.List], key and UID are empty
	// unless they are known without reading the notes: see [Site.Owner].
	Owner model.Owner
	// Guest is the observed guest. It is never modified; read again for newer facts.
	Guest *model.Guest
	// Outcome is the last outcome, if this caller has put the machine.
	Outcome *Outcome
}

// listAge is how old the cluster's lists may be for reads.
const listAge = 20 * time.Second

// refresh reads the lists if they aren't recent. A session reads them periodically.
func (s *Site) refresh(ctx context.Context) error { return s.cluster.observer.Refresh(ctx, listAge) }

// Read returns an owner's machine in Proxmox, with its whole config. It reads only what isn't
// known yet. The error is [ErrNotFound] if there is no machine.
func (s *Site) Read(ctx context.Context, owner model.Owner) (Machine, error) {
	if err := s.refresh(ctx); err != nil {
		return Machine{}, err
	}
	for _, vmid := range s.candidates(owner) {
		g, err := s.cluster.observer.Known(ctx, vmid)
		if err != nil {
			return Machine{}, err
		}
		if g != nil && g.Config.Marker != nil && g.Config.Marker.Owner == owner {
			return s.machine(owner, g), nil
		}
	}
	return Machine{}, fmt.Errorf("%s: %w", owner.Key, ErrNotFound)
}

// candidates returns the guests that may be an owner's: those with its tag, and those with one
// of its VMIDs and no tag of another owner.
func (s *Site) candidates(owner model.Owner) (ids []int) {
	s.mu.Lock()
	if o, ok := s.latest[owner.Key]; ok && o.Owner == owner && o.VMID != 0 {
		ids = append(ids, o.VMID)
	}
	vmids := s.opts.Range
	if v, ok := s.want.vms[owner.Key]; ok {
		vmids = v.Range
	}
	s.mu.Unlock()
	s.cluster.observer.View(func(have *model.Observed) {
		for _, g := range have.Tagged(owner) {
			ids = append(ids, g.VMID)
		}
		for id := range owner.Candidates(vmids) {
			if g := have.Guests[id]; g != nil && g.Name == owner.Name {
				if _, _, tagged := model.ParseStateTag(g.Tags); !tagged {
					ids = append(ids, id)
				}
			}
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (s *Site) machine(owner model.Owner, g *model.Guest) Machine {
	m := Machine{Owner: owner, Guest: g}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.latest[owner.Key]; ok && o.Owner == owner {
		m.Outcome = &o
	}
	return m
}

// Owner returns the owner of a machine, by the notes in its config, which is read if it isn't known.
func (s *Site) Owner(ctx context.Context, vmid int) (model.Owner, error) {
	if err := s.refresh(ctx); err != nil {
		return model.Owner{}, err
	}
	g, err := s.cluster.observer.Known(ctx, vmid)
	switch {
	case err != nil:
		return model.Owner{}, err
	case g == nil || g.Config.Marker == nil:
		return model.Owner{}, fmt.Errorf("VM %d: %w", vmid, ErrNotFound)
	}
	return g.Config.Marker.Owner, nil
}

// List returns the machines of a door's set, whoever has put them and whenever, in the order of
// their VMIDs. It needs no request per machine: machines that were put have a tag of their set.
// Whoever may change a machine can forge tags, so they prove nothing; before a machine is changed,
// the notes in its config are read.
//
// Machines that were made by [Site.Want] and [Site.Apply] have no such tag. Their configs are read
// the first time, and when they change.
func (s *Site) List(ctx context.Context, door, set string) ([]Machine, error) {
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	found, unknown := s.sorted(door, set)
	if len(unknown) > 0 {
		if err := s.readAll(ctx, unknown); err != nil {
			return nil, err
		}
		found, _ = s.sorted(door, set)
	}
	slices.SortFunc(found, func(a, b Machine) int { return cmp.Compare(a.Guest.VMID, b.Guest.VMID) })
	return found, nil
}

// sorted returns the machines of a set, and the guests that may belong to it and whose configs must be read.
func (s *Site) sorted(door, set string) (found []Machine, unknown []int) {
	of := model.Owner{Door: door, Set: set}
	own := s.own(of)
	var guests []*model.Guest
	s.cluster.observer.View(func(have *model.Observed) {
		for _, g := range have.Guests {
			if !g.Template && !g.Container {
				guests = append(guests, g)
			}
		}
	})
	for _, g := range guests {
		id, _, tagged := model.ParseStateTag(g.Tags)
		owner, known := own[id]
		switch in, said := model.ParseSetTag(g.Tags); {
		case !tagged:
		case g.Config != nil:
			if m := g.Config.Marker; m != nil && m.Owner.Door == door && m.Owner.Set == set {
				found = append(found, s.machine(m.Owner, g))
			}
		case known:
			found = append(found, s.machine(owner, g))
		case said && in == model.SetTag(of):
			found = append(found, Machine{Owner: of, Guest: g})
		case !said:
			unknown = append(unknown, g.VMID)
		}
	}
	return found, unknown
}

// Begun lists the machines of a door's set that have no tag yet: those that were cloned and not configured, usually by a process that was killed. It reads the configs
// of guests without a tag for whose names named returns true, once. A guest that can't be read, such as one on a node that is offline, is an error beside what the
// others are.
func (s *Site) Begun(ctx context.Context, door, set string, named func(string) bool) (begun []Machine, err error) {
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	candidates := func() (list []*model.Guest) {
		s.cluster.observer.View(func(have *model.Observed) {
			for _, g := range have.Guests {
				if _, _, tagged := model.ParseStateTag(g.Tags); !tagged && !g.Template && !g.Container && named(g.Name) {
					list = append(list, g)
				}
			}
		})
		slices.SortFunc(list, func(a, b *model.Guest) int { return cmp.Compare(a.VMID, b.VMID) })
		return list
	}
	var ids []int
	for _, g := range candidates() {
		ids = append(ids, g.VMID)
	}
	err = s.readAll(ctx, ids)
	for _, g := range candidates() {
		if g.Config != nil && g.Config.Marker != nil && g.Config.Marker.Owner.Door == door && g.Config.Marker.Owner.Set == set {
			begun = append(begun, s.machine(g.Config.Marker.Owner, g))
		}
	}
	return begun, err
}

// own returns the owners of a set whose objects this caller wants, by their IDs in tags.
func (s *Site) own(of model.Owner) map[string]model.Owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := map[string]model.Owner{}
	for _, v := range s.want.vms {
		if v.Owner.Door == of.Door && v.Owner.Set == of.Set {
			ids[v.Owner.ID()] = v.Owner
		}
	}
	return ids
}

// readAll reads the configs of some guests, side by side; the limiter bounds how many at once.
func (s *Site) readAll(ctx context.Context, vmids []int) error {
	errs := make([]error, len(vmids))
	var all sync.WaitGroup
	for i, vmid := range vmids {
		all.Go(func() { _, errs[i] = s.cluster.observer.Known(ctx, vmid) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// View calls fn with the observed cluster: nodes with their free capacity, storages, guests.
// Lists are read again if they aren't recent. Guests that are being created and aren't listed
// yet are in have.Placed. Nothing changes while fn runs; fn must not keep anything except
// guests.
func (s *Site) View(ctx context.Context, fn func(have *model.Observed)) error {
	if err := s.refresh(ctx); err != nil {
		return err
	}
	s.cluster.engine.View(fn)
	return nil
}
