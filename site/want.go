package site

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve/prop"
)

// Errors of calls.
var (
	ErrClosed = errors.New("the site is closed")
	ErrTaken  = errors.New("another caller looks after it")
	// ErrSameKey: two objects of one caller have the same kind, namespace and name. Open a site
	// for each set.
	ErrSameKey = engine.ErrSameKey
)

// Put declares a machine, in place of the owner's former one. It returns at once;
// [Site.Await] waits for the machine. Putting the same machine again has no effect.
//
// The owner's door, set and key identify the machine in Proxmox: the same owner finds its
// machine again. Put the machine's image before the machine.
func (s *Site) Put(owner model.Owner, vm model.VM) error {
	vm.Owner = owner
	if vm.Name == "" {
		vm.Name = owner.Name
	}
	if vm.Range == (model.Range{}) {
		vm.Range = s.opts.Range
	}
	if tag := model.SetTag(owner); !slices.Contains(vm.Tags, tag) {
		vm.Tags = append(slices.Clone(vm.Tags), tag)
	}
	options := make(map[string]string, len(vm.Options))
	for k, v := range vm.Options {
		options[k] = prop.Canonical(k, v)
	}
	vm.Options = options
	vm = s.cluster.seal(vm)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch is, known := s.want.owner(owner.Key); {
	case s.closed:
		return ErrClosed
	case known && is != owner:
		return fmt.Errorf("%s: %w", owner.Key, ErrSameKey)
	case !s.cluster.claim(owner, s):
		return fmt.Errorf("%s: %w", owner.Key, ErrTaken)
	}
	s.put(owner.Key, func(w *wanted) bool {
		was, known := w.vms[owner.Key]
		w.vms[owner.Key] = vm
		return !known || !reflect.DeepEqual(was, vm)
	})
	return nil
}

// PutImage declares a source of machines: a template by its name or VMID, or an image to
// fetch from a URL.
func (s *Site) PutImage(owner model.Owner, image model.Image) error {
	image.Owner = owner
	if image.Range == (model.Range{}) {
		image.Range = s.opts.Range
	}
	return s.change(owner, func(w *wanted) bool {
		was, known := w.images[owner.Key]
		w.images[owner.Key] = image
		return !known || !reflect.DeepEqual(was, image)
	})
}

// PutSnapshot declares a snapshot of a machine.
func (s *Site) PutSnapshot(owner model.Owner, snapshot model.Snapshot) error {
	snapshot.Owner = owner
	return s.change(owner, func(w *wanted) bool {
		was, known := w.snaps[owner.Key]
		w.snaps[owner.Key] = snapshot
		return !known || was != snapshot
	})
}

// change changes the wanted state of an object; do reports whether it has changed.
func (s *Site) change(owner model.Owner, do func(*wanted) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch is, known := s.want.owner(owner.Key); {
	case s.closed:
		return ErrClosed
	case known && is != owner:
		return fmt.Errorf("%s: %w", owner.Key, ErrSameKey)
	}
	s.put(owner.Key, do)
	return nil
}

// put does the same for a caller that holds the lock.
func (s *Site) put(key model.Key, change func(*wanted) bool) {
	s.want.list(key)
	if change(&s.want) {
		s.want.versions[key]++
		delete(s.latest, key)
		s.update()
	}
}

// Remove removes an owner's object: a machine with its disks, a fetched image, a snapshot. A
// machine that was put with Retain, or that was adopted, is only released and stays in
// Proxmox. For a machine that this caller hasn't put, its notes decide that; they are read if
// they aren't known. [Site.Await] waits until the object is gone.
func (s *Site) Remove(ctx context.Context, owner model.Owner) error {
	s.mu.Lock()
	have, known := s.want.owner(owner.Key)
	s.mu.Unlock()
	if known && have == owner {
		return s.change(owner, func(w *wanted) bool {
			if v, ok := w.vms[owner.Key]; ok {
				changed := !v.Deleted
				v.Deleted = true
				w.vms[owner.Key] = v
				return changed
			}
			if i, ok := w.images[owner.Key]; ok {
				changed := !i.Deleted
				i.Deleted = true
				w.images[owner.Key] = i
				return changed
			}
			snap := w.snaps[owner.Key]
			changed := !snap.Deleted
			snap.Deleted = true
			w.snaps[owner.Key] = snap
			return changed
		})
	}
	gone := model.VM{Deleted: true, Destroy: true}
	switch m, err := s.Read(ctx, owner); {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	default:
		mark := m.Guest.Config.Marker // Read has seen to it
		gone.Retain, gone.Destroy = mark.Retain && !mark.Adopted, !mark.Retain && !mark.Adopted
	}
	return s.Put(owner, gone)
}

// Forget ends the management of an owner's object, which stays in Proxmox as it is.
func (s *Site) Forget(owner model.Owner) {
	s.mu.Lock()
	have, known := s.want.owner(owner.Key)
	if known = known && have == owner; known {
		s.forget(owner.Key)
	}
	s.mu.Unlock()
	if known {
		s.cluster.disown(s, owner)
	}
}

// forget drops an object. The caller holds the lock.
func (s *Site) forget(key model.Key) {
	s.want.drop(key)
	delete(s.latest, key)
	s.update()
	s.wake()
}

// Want declares the whole wanted state of this caller, in place of everything that it has put:
// objects that aren't in it any more stay in Proxmox as they are. versions, which may be nil,
// are the generations of objects; outcomes repeat them. Of two objects with one key the last
// one counts.
func (s *Site) Want(all model.Desired, versions map[model.Key]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.want.reset()
	s.want.whole, s.want.rest, s.want.shares, s.want.groups = true, all, all.Shares, all.Groups
	s.want.rest.VMs, s.want.rest.Images, s.want.rest.Snapshots = nil, nil, nil
	for _, i := range all.Images {
		s.want.list(i.Owner.Key)
		s.want.images[i.Owner.Key] = i
	}
	for _, v := range all.VMs {
		s.want.list(v.Owner.Key)
		s.want.vms[v.Owner.Key] = v
	}
	for _, snap := range all.Snapshots {
		s.want.list(snap.Owner.Key)
		s.want.snaps[snap.Owner.Key] = snap
	}
	if versions != nil {
		s.want.versions = maps.Clone(versions)
	}
	maps.DeleteFunc(s.latest, func(k model.Key, o Outcome) bool { return o.Version != s.want.versions[k] })
	s.update()
}

// Desired returns the present wanted state of this caller.
func (s *Site) Desired() model.Desired {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desired()
}

func (s *Site) desired() model.Desired {
	d := s.want.desired()
	if !s.want.whole {
		d.Door, d.Set, d.Range, d.Allow, d.MaxUnavailable = s.opts.Door, s.opts.Set, s.opts.Range, s.opts.Allow, s.opts.MaxUnavailable
	}
	return d
}

// update makes the session take over the wanted state. Many changes at once are one for the session. The
// caller holds the lock.
func (s *Site) update() {
	session := s.begin()
	if s.stale || session == nil {
		return
	}
	s.stale = true
	session.Update(func() (model.Desired, map[model.Key]int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stale = false
		return s.desired(), maps.Clone(s.want.versions)
	})
}

// changed takes over the outcome of an object.
func (s *Site) changed(o engine.Outcome) {
	s.mu.Lock()
	key := o.Owner.Key
	if owner, known := s.want.owner(key); known && owner == o.Owner && o.Version == s.want.versions[key] {
		s.latest[key] = o
		s.tell(o)
		if o.State == engine.StateGone && !s.want.whole {
			s.want.drop(key) // nothing is left to look after
			delete(s.latest, key)
			s.update()
			defer s.cluster.disown(s, owner)
		}
	}
	s.mu.Unlock()
	if s.opts.Changed != nil {
		s.opts.Changed(o)
	}
}

// troubled takes over the trouble of the session, or its end.
func (s *Site) troubled(w *plan.Wait, since time.Time) {
	s.mu.Lock()
	s.trouble, s.since = w, since
	s.wake()
	s.mu.Unlock()
	if s.opts.Trouble != nil {
		s.opts.Trouble(w, since)
	}
}
