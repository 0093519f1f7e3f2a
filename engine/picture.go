package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Picture is a cache for successive plans: what one of them has read, the others don't read again. Plans
// with one Picture may be made concurrently.
//
// The lists show whether a guest was left up to date, its node, name, tags, lock, pool, power state, CPUs, memory and root
// disk. The config of a guest that the lists show something to do for is always read. Of the others, some are read for the
// first plans, and further ones in turn. Changes that no list shows aren't found in guests that aren't read: these are
// [plan.Object.Unread].
type Picture struct {
	Since time.Time // facts that were read earlier are read again
	Few   int       // number of configs that are read if no plan has more machines; negative: all
	Turn  int       // number of further configs that are read in turn
	First int       // index of the guest with which the turn begins, so that the next picture continues

	mu   sync.Mutex
	read int // of Few
}

// take reports whether one more config may be read without its turn.
func (pic *Picture) take() bool {
	pic.mu.Lock()
	defer pic.mu.Unlock()
	if pic.Few >= 0 && pic.read >= pic.Few {
		return false
	}
	pic.read++
	return true
}

// turns returns those of some guests whose turn it is. The turn goes by VMIDs, not by who asks first, so that successive
// pictures cover all guests, in whichever order plans are made.
func (pic *Picture) turns(ids []int) map[int]bool {
	turn := map[int]bool{}
	slices.Sort(ids)
	for i := range min(pic.Turn, len(ids)) {
		turn[ids[(pic.First+i)%len(ids)]] = true
	}
	return turn
}

// PlanAsOf plans like [Engine.Plan] with a picture, for plans of many objects one after another.
func (e *Engine) PlanAsOf(ctx context.Context, want model.Desired, pic *Picture) (plan.Plan, error) {
	return e.planAsOf(ctx, want, pic, nil)
}

func (e *Engine) planAsOf(ctx context.Context, want model.Desired, pic *Picture, known *standing) (plan.Plan, error) {
	if err := e.reconnecting(ctx, func() error { return e.refreshSince(ctx, pic.Since) }); err != nil {
		return plan.Plan{}, err
	}
	if len(want.VMs) > aFewPowers {
		if err := e.reconnecting(ctx, func() error { return e.observer.PowersSince(ctx, pic.Since, e.tagged(want)...) }); err != nil {
			return plan.Plan{}, err
		}
	}
	unread := e.unread(e.seemUpToDate(want, known), want, pic)
	if len(unread) == 0 {
		return e.planSince(ctx, want, whole(pic.Since), known)
	}
	rest := want
	rest.Seen = map[model.Key]bool{}
	for k, seen := range want.Seen {
		rest.Seen[k] = seen
	}
	for _, o := range unread {
		rest.Seen[o.Owner.Key] = true
	}
	p, err := e.planSince(ctx, rest, whole(pic.Since), known)
	p.Objects = append(p.Objects, unread...)
	return p, err
}

// aFewPowers is how many guests are asked one by one whether they run; of more, their nodes are asked for lists.
const aFewPowers = 3

// seemUpToDate returns the machines for which the lists show nothing to do.
func (e *Engine) seemUpToDate(want model.Desired, known *standing) (list []plan.Object) {
	want.Quick, want.Foresee, want.Unheard = true, true, true
	want = e.seal(want)
	machines := map[model.Key]bool{}
	for _, v := range want.VMs {
		machines[v.Owner.Key] = !v.Deleted
	}
	for _, o := range e.plan(want, known).Objects {
		o.Look.Volumes, o.Look.Disks = false, nil // lists of storages are for machines whose configs are read
		if machines[o.Owner.Key] && o.VMID != 0 && !o.Gone && o.Ready() && len(o.Notes) == 0 {
			list = append(list, o)
		}
	}
	return list
}

// unread returns those of some machines whose configs aren't read for this picture.
func (e *Engine) unread(list []plan.Object, want model.Desired, pic *Picture) (left []plan.Object) {
	ids := e.tagged(want) // all of them, so that whoever asks again within the picture gets the same answer
	many := pic.Few >= 0 && len(ids) > pic.Few
	if !many {
		ids = e.marked()
	}
	turn := pic.turns(ids)
	for _, o := range list {
		if config, _ := e.observer.Outdated(o.VMID, pic.Since, pic.Since); config && !turn[o.VMID] && (many || !pic.take()) {
			o.Unread = true
			left = append(left, o)
		}
	}
	return left
}

// marked returns all guests with an owner's tag.
func (e *Engine) marked() (ids []int) {
	e.observer.View(func(have *model.Observed) {
		for id, g := range have.Guests {
			if _, _, ok := model.ParseStateTag(g.Tags); ok {
				ids = append(ids, id)
			}
		}
	})
	return ids
}

// tagged returns the guests with the tags of machines that are planned.
func (e *Engine) tagged(want model.Desired) (ids []int) {
	e.observer.View(func(have *model.Observed) {
		for _, v := range want.VMs {
			if want.Seen[v.Owner.Key] {
				continue
			}
			for _, g := range have.Tagged(v.Owner) {
				ids = append(ids, g.VMID)
			}
		}
	})
	return ids
}

// refreshSince reads the lists again if they were read before a time.
func (e *Engine) refreshSince(ctx context.Context, since time.Time) error {
	return e.observer.Refresh(ctx, max(0, time.Since(since).Truncate(time.Millisecond)))
}
