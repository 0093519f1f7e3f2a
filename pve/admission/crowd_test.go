package admission_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/pve/admission"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// A request is one that is waiting, has been admitted, or is over.
type request struct {
	seq    int // order of arrival
	key    admission.Key
	class  admission.Class
	cancel context.CancelFunc
	slot   *admission.Slot // set when admitted
	err    error           // set when cancelled
}

// A crowd makes requests and keeps book of them in the order they came.
type crowd struct {
	lim      *admission.Limiter
	asked    int
	waiting  []*request
	admitted []*request
}

// ask makes a request. Call settle before the next, for the order to be known.
func (c *crowd) ask(key admission.Key, class admission.Class) *request {
	ctx, cancel := context.WithCancel(context.Background())
	c.asked++
	r := &request{seq: c.asked, key: key, class: class, cancel: cancel}
	c.waiting = append(c.waiting, r)
	go func() { r.slot, r.err = c.lim.Acquire(ctx, key, class) }()
	return r
}

func (c *crowd) release(r *request, o admission.Outcome) []*request {
	r.slot.Release(o)
	c.admitted = slices.DeleteFunc(c.admitted, func(o *request) bool { return o == r })
	return c.settle()
}

// disperse ends all waiting, as a synctest bubble wants it.
func (c *crowd) disperse() {
	for _, r := range c.waiting {
		r.cancel()
	}
	c.settle()
}

// settle waits until all is at rest and returns who was admitted since.
func (c *crowd) settle() (fresh []*request) {
	synctest.Wait()
	c.waiting = slices.DeleteFunc(c.waiting, func(r *request) bool {
		if r.slot != nil {
			c.admitted = append(c.admitted, r)
			fresh = append(fresh, r)
		}
		return r.slot != nil || r.err != nil
	})
	return fresh
}

// needs reports whether the request needs a slot of what u is about.
func (r *request) needs(u admission.Usage) bool {
	if r.class != u.Class {
		return false
	}
	if u.Storage != "" {
		return r.key.Storage == u.Storage
	}
	return r.key.Node == u.Node
}

// before reports whether r has to be admitted before o if both can be: it is to go
// first, or the other is to come later, or it came earlier.
func (r *request) before(o *request) bool {
	if r.key.First != o.key.First {
		return r.key.First
	}
	if !r.key.First && r.key.Later != o.key.Later {
		return o.key.Later
	}
	return r.seq < o.seq
}

// heldBack reports whether r is to come later than something that is under way on a
// storage that makes work wait.
func (c *crowd) heldBack(r *request) bool {
	if !r.key.Later || r.key.First {
		return false
	}
	for _, u := range c.lim.Snapshot() {
		if u.Storage != "" && u.Crowded && r.needs(u) &&
			slices.ContainsFunc(c.admitted, func(o *request) bool { return o.key.First && o.needs(u) }) {
			return true
		}
	}
	return false
}

func (c *crowd) check(t *rapid.T, most int, fresh []*request) {
	slices.SortFunc(c.waiting, func(a, b *request) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	for _, u := range c.lim.Snapshot() {
		count := func(of []*request) (n int) {
			for _, r := range of {
				if r.needs(u) {
					n++
				}
			}
			return n
		}
		if got := count(c.admitted); got != u.InUse {
			t.Fatalf("%+v, but %d requests are admitted", u, got)
		}
		if got := count(c.waiting); got != u.Waiting {
			t.Fatalf("%+v, but %d requests wait", u, got)
		}
		if u.Limit < 1 || u.Limit > most {
			t.Fatalf("%+v: limit not in 1 to %d", u, most)
		}
		if count(fresh) > 0 && u.InUse > u.Limit {
			t.Fatalf("%+v: somebody was admitted above the limit", u)
		}
	}
	for i, w := range c.waiting {
		older := c.waiting[:i]
		if c.heldBack(w) || c.blocked(w, older, nil) {
			continue
		}
		t.Fatalf("%v %v waits though there is room and nobody older to keep it for", w.class, w.key)
	}
	for _, r := range fresh {
		for i, w := range c.waiting {
			if w.before(r) && w.sharesWith(r) && !c.heldBack(w) && !c.blocked(w, c.waiting[:i], r) {
				t.Fatalf("%v %v was passed by %v that needs the same and no less", w.class, w.key, r.key)
			}
		}
	}
}

// blocked reports whether w has to wait for something that rival doesn't need:
// it is full, or somebody older waits for it.
func (c *crowd) blocked(w *request, older []*request, rival *request) bool {
	for _, u := range c.lim.Snapshot() {
		if !w.needs(u) || rival != nil && rival.needs(u) {
			continue
		}
		if u.InUse >= u.Limit || slices.ContainsFunc(older, func(o *request) bool { return o.needs(u) }) {
			return true
		}
	}
	return false
}

func (r *request) sharesWith(o *request) bool {
	return r.class == o.class && (r.key.Node == o.key.Node || r.key.Storage != "" && r.key.Storage == o.key.Storage)
}

func TestSlotsAreNeitherExceededNorLostNorTakenOutOfTurn(t *testing.T) {
	// Without the methods of *testing.T that must not be called in a bubble.
	synctest.Test(t, func(t *testing.T) { rapid.Check(struct{ testing.TB }{t}, checkCrowd) })
}

func checkCrowd(t *rapid.T) {
	most := rapid.IntRange(1, 6).Draw(t, "max")
	bounds := admission.Bounds{Start: rapid.IntRange(1, most).Draw(t, "start"), Max: most}
	// A clock of our own: rapid has a deadline, which a bubble's would soon reach.
	now := time.Now()
	c := &crowd{lim: admission.New(admission.Config{Read: bounds, Write: bounds, Now: func() time.Time { return now }})}
	defer c.disperse()
	pick := func(of []*request) *request {
		if len(of) == 0 {
			t.Skip("nobody there")
		}
		return rapid.SampledFrom(of).Draw(t, "request")
	}
	outcome := rapid.SampledFrom([]admission.Outcome{{}, {}, {}, {Failed: true}, {LockTimeout: true}})
	t.Repeat(map[string]func(*rapid.T){
		"ask": func(t *rapid.T) {
			key := admission.Key{
				Node:    rapid.SampledFrom([]string{"", "pve1"}).Draw(t, "node"),
				Storage: rapid.SampledFrom([]string{"", "nfs", "ceph"}).Draw(t, "storage"),
				Later:   rapid.Bool().Draw(t, "later"),
				First:   rapid.Bool().Draw(t, "first"),
			}
			class := rapid.SampledFrom([]admission.Class{admission.Write, admission.Read}).Draw(t, "class")
			for range rapid.IntRange(1, 8).Draw(t, "number") {
				c.ask(key, class)
				c.check(t, most, c.settle())
			}
		},
		"release": func(t *rapid.T) {
			r := pick(c.admitted)
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
			fresh := c.release(r, outcome.Draw(t, "outcome"))
			c.check(t, most, fresh)
		},
		"see": func(t *rapid.T) {
			waited := time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second
			among := rapid.IntRange(1, most).Draw(t, "among")
			pick(c.admitted).slot.Saw(admission.Sight{Among: among, Waited: waited, Through: rapid.Bool().Draw(t, "through")})
			c.check(t, most, c.settle())
		},
		"release again": func(t *rapid.T) {
			r := pick(c.admitted)
			fresh := c.release(r, admission.Outcome{})
			r.slot.Release(admission.Outcome{LockTimeout: true})
			c.check(t, most, append(fresh, c.settle()...))
		},
		"cancel": func(t *rapid.T) {
			r := pick(c.waiting)
			r.cancel()
			fresh := c.settle()
			if !errors.Is(r.err, context.Canceled) {
				t.Fatalf("cancelled while waiting: got error %v", r.err)
			}
			c.check(t, most, fresh)
		},
		"cancel at the moment of admission": func(t *rapid.T) {
			holder, r := pick(c.admitted), pick(c.waiting)
			r.cancel()
			fresh := c.release(holder, admission.Outcome{})
			c.check(t, most, fresh)
		},
	})
	// Whoever still waits gets in when the others leave.
	for len(c.admitted) > 0 {
		c.check(t, most, c.release(c.admitted[0], admission.Outcome{}))
	}
	if len(c.waiting) > 0 {
		t.Fatalf("%d requests wait for nobody", len(c.waiting))
	}
	for _, u := range c.lim.Snapshot() {
		if u.InUse != 0 || u.Waiting != 0 {
			t.Fatalf("%+v after all have left", u)
		}
	}
}
