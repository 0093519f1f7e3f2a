// Package admission bounds how many requests to Proxmox are under way at once,
// per node and per storage, and finds the right bound while it works.
//
// A Proxmox node answers with three workers and each storage has one lock, but
// the work itself is done by tasks beside the workers. A small fixed number of
// requests at once therefore wastes time, and a large one runs into lock
// timeouts. So every bound is found by trying: it gets narrower when Proxmox
// answers with lock timeouts or slows down, and wider again when that is over.
//
// The bounds of nodes start wide. Those of storages start with a few and grow by
// factors, within moments, as long as whoever looks at the work under way tells that it
// doesn't wait for the storage's lock, or not for long (see [Slot.Saw]). So a
// storage that takes all at once gets all at once, and one that doesn't never gets
// so many that they time out.
//
// One [Limiter] serves all users of a client:
//
//	slot, err := lim.Acquire(ctx, admission.Key{Node: "pve1", Storage: "pve1/local-lvm", Op: "clone"}, admission.Write)
//	if err != nil {
//		return err // ctx ended while waiting; nothing is held
//	}
//	defer slot.Release(admission.Outcome{})
//
// A storage stays busy for as long as the task that a request started, not just
// for the request. Whoever starts a task keeps the slot and releases it when the
// task has ended, be it minutes later and from another goroutine. A slot that is
// never released is lost for good, so do it on every path; doing it again does
// nothing.
package admission

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Class says which bounds a request falls under. Reads and writes have slots of
// their own: a flood of one never holds up the other.
type Class int

// The classes of requests.
const (
	Read  Class = iota // changes nothing
	Write              // changes something, or starts a task that does
)

func (c Class) String() string {
	if c == Write {
		return "write"
	}
	return "read"
}

// Key says what a request keeps busy.
type Key struct {
	// Node is the node that does the work. Empty stands for the cluster as a
	// whole, which has a bound like a node's.
	Node string

	// Storage is the storage that the work needs, empty for none. Storages of
	// the same name on two nodes are one storage here, as a shared one should
	// be; for a local one the caller puts the node into the name.
	Storage string

	// Op is the kind of work ("clone", "config"), one of a few fixed words. Slots do not
	// depend on it; durations are compared within one Op only, since a clone that takes longer
	// than a config change means nothing.
	Op string

	// Later says that the work is admitted after all other work that waits. A
	// clone is: it is the first of more that follows it, and what was begun had
	// better be finished before more is.
	Later bool

	// First says that the work is admitted before all other work that waits. A
	// removal is: nobody waits for a thousand new machines to see one go. Where
	// Proxmox makes work wait for the storage, it would wait there behind clones
	// that were let in after it, so none are while it is under way.
	First bool
}

// rank is the order in which those that wait are admitted.
func (k Key) rank() rank {
	switch {
	case k.First:
		return first
	case k.Later:
		return later
	}
	return usual
}

// Outcome is the outcome of a request or of the task it started. The zero value is success.
type Outcome struct {
	// LockTimeout: Proxmox gave up waiting for a lock that other work on the
	// same storage or node held. The lock of one VM's config isn't meant: it
	// says nothing about load, and is Failed.
	LockTimeout bool

	// Failed: it didn't succeed for another reason, or its outcome isn't known. Neither that
	// nor its duration changes a bound.
	Failed bool
}

// Bounds are the limits of one class, for each node or each storage.
type Bounds struct {
	Start int // slots at first, before anything is known
	Max   int // slots at most
}

// Config sets a [Limiter] up. The zero value is good.
type Config struct {
	Write   Bounds // of a node; default 128 at first, 512 at most
	Storage Bounds // of writes on a storage; default 8 at first, as many as a node's at most
	Read    Bounds // of a node; default 16 at first, 64 at most

	// Forget is how long a node or storage may be unused before its learnt bound is dropped.
	// Default 15 minutes.
	Forget time.Duration

	// Now is the clock, time.Now by default. Nothing here sets a timer.
	Now func() time.Time
}

// Limiter admits requests. It is safe for concurrent use.
type Limiter struct {
	pools [2]*pool
}

// New makes a Limiter.
func New(c Config) *Limiter {
	c.Forget = cmp.Or(c.Forget, 15*time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	read, write := c.Read.or(Bounds{Start: 16, Max: 64}), c.Write.or(Bounds{Start: 128, Max: 512})
	return &Limiter{pools: [2]*pool{
		Read:  newPool(c, read, read),
		Write: newPool(c, write, c.Storage.or(Bounds{Start: min(8, write.Start), Max: write.Max})),
	}}
}

func (b Bounds) or(def Bounds) Bounds {
	if b.Max <= 0 {
		b.Max = max(b.Start, def.Max)
	}
	if b.Start <= 0 {
		b.Start = def.Start
	}
	b.Start = min(b.Start, b.Max)
	return b
}

// Acquire waits until the node and the storage of the key both have a slot free,
// takes both, and returns them. It fails only when ctx ends first.
//
// Requests of one key are admitted in the order they came. A request may pass an
// older one that waits for something the younger doesn't need, but not for ever:
// of all that wait for the same node or storage, the oldest has whatever else it
// needs kept free for it.
func (l *Limiter) Acquire(ctx context.Context, key Key, class Class) (*Slot, error) {
	return l.pools[class].acquire(ctx, key)
}

// Searching reports whether writes wait for the key's storage while its bound is
// still being looked for: then [Slot.Saw] of those under way lets more in.
func (l *Limiter) Searching(key Key) bool { return l.pools[Write].searching(key) }

// Usage is the state of one bound: that of a storage, or of a node if Storage is
// empty.
type Usage struct {
	Class   Class
	Node    string
	Storage string
	Limit   int // slots at present
	InUse   int // may be above Limit for a while after Limit fell
	Waiting int
	Crowded bool // work has had to wait for it: more at once is no use
}

// Snapshot lists all bounds in use lately, sorted.
func (l *Limiter) Snapshot() []Usage {
	var all []Usage
	for class, p := range l.pools {
		all = p.snapshot(Class(class), all)
	}
	slices.SortFunc(all, func(a, b Usage) int {
		return cmp.Or(
			cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Storage, b.Storage),
		)
	})
	return all
}
