package robustness

import (
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
)

// set is what somebody wants, as it changes over time.
type set struct {
	name  string
	world *world

	mu      sync.Mutex
	n       int
	told    int         // how often processes asked what is wanted
	times   []time.Time // of the changes
	changed chan struct{}
	images  []*imageWish
	vms     []*wish
	snaps   []*snapWish
	prune   bool
}

// wish is a machine that is wanted, or was once.
type wish struct {
	model.VM
	unnamed bool // the manifests don't name it any more
	// When it may last have been the will of anybody that it goes, or that it
	// stops: those who act may have begun then.
	spared, kept time.Time
	dropped      time.Time       // the same of disks
	remade       bool            // it was to be made in another way at some time
	had          map[string]bool // disks that were wanted once
	wasRetained  bool            // it was to stay when it is deleted, at some time
}

// snapWish is a snapshot that is wanted.
type snapWish struct {
	model.Snapshot
	unnamed bool
}

var setNames = []string{"one", "two"}

func newSet(name string, w *world) *set {
	s := &set{name: name, world: w, changed: make(chan struct{})}
	s.images = s.newImages()
	return s
}

// version counts the changes; the channel is closed at the next one.
func (s *set) version() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n, s.changed
}

// change changes what is wanted, and reports whether it is something else now.
func (s *set) change(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.wanted()
	fn()
	s.n++
	s.times = append(s.times, time.Now())
	close(s.changed)
	s.changed = make(chan struct{})
	return !reflect.DeepEqual(was, s.wanted())
}

// triedAgain counts the machines that were asked for once more since a time: with each
// change but the first, which is what the requests are for.
func (s *set) triedAgain(since time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.times {
		if t.After(since) {
			n++
		}
	}
	return max(n-1, 0) * len(s.vms)
}

func (s *set) owner(kind, name string) model.Owner {
	return model.Owner{Door: "vm", Set: s.name, Key: model.Key{Kind: kind, Name: name}}
}

// find is the machine of that name, whether or not it is wanted now.
func (s *set) find(name string) *wish {
	for _, w := range s.vms {
		if w.Owner.Name == name {
			return w
		}
	}
	return nil
}

// byOwner finds the wish that a guest's marker names.
func (s *set) byOwner(o model.Owner) *wish {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.find(o.Name); w != nil && w.Owner == o {
		return w
	}
	return nil
}

// mayGo reports whether the machine may be destroyed.
func (s *set) mayGo(w *wish, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.Deleted || w.unnamed || w.remade && w.Update.Replace || now.Before(w.spared.Add(grace))
}

// pruned reports whether the manifests don't name the machine any more, and nothing else was wanted of
// it that processes may still be at.
func (s *set) pruned(w *wish, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.unnamed && !w.Deleted && !w.remade && now.After(w.spared.Add(grace)) && w.Power == model.PowerOn && now.After(w.kept.Add(grace)) && !w.Update.Restart
}

// mayStop reports whether the machine may be powered off.
func (s *set) mayStop(w *wish, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.Power != model.PowerOn || w.Update.Restart || now.Before(w.kept.Add(grace))
}

// mayDrop reports whether a disk of the machine may go.
func (s *set) mayDrop(w *wish, slot string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (w.Update.Data || time.Now().Before(w.dropped.Add(grace))) && w.had[slot] && !slices.ContainsFunc(w.Disks, func(d model.Disk) bool { return d.Slot == slot })
}

// grace is how long something may still be done that was wanted until now.
const grace = 3 * time.Minute

// want is what a process is told to make so.
func (s *set) want(weak weakness) model.Desired {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.wanted()
	s.told++
	for i := range d.VMs {
		d.VMs[i].Range = weak.vmids(d.VMs[i].Range, s.told)
	}
	return d
}

// wanted is what is wanted now.
func (s *set) wanted() model.Desired {
	d := model.Desired{Set: s.name, Range: s.world.vmids, Prune: s.prune}
	for _, i := range s.images {
		d.Images = append(d.Images, i.Image)
	}
	for _, w := range s.vms {
		if w.unnamed {
			continue
		}
		v := w.VM
		v.Options, v.Disks, v.NICs, v.Tags = maps.Clone(v.Options), slices.Clone(v.Disks), slices.Clone(v.NICs), slices.Clone(v.Tags)
		v.Managed = slices.Clone(v.Managed)
		for _, l := range v.Leases {
			v.Managed = append(v.Managed, l.Option())
		}
		d.VMs = append(d.VMs, v)
	}
	for _, w := range s.snaps {
		if !w.unnamed {
			d.Snapshots = append(d.Snapshots, w.Snapshot)
		}
	}
	return d
}

func stableMAC(set, name string, n int) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%d", set, name, n)
	sum := h.Sum32()
	return fmt.Sprintf("BC:24:11:%02X:%02X:%02X", byte(sum>>16), byte(sum>>8), byte(sum))
}
