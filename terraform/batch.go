package terraform

import (
	"context"
	"sync"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// batches puts the plans together that resources ask for at the same time: while one is made, those
// who come later wait and are the next batch.
type batches struct {
	plan func(ctx context.Context, list []*question) (plan.Plan, error)

	mu    sync.Mutex
	queue []*question
	busy  bool
}

// question is a resource that wants to know what would be done for it.
type question struct {
	part model.Key
	wanting
	done chan struct{}
	plan []plan.Object
	err  error
}

// ask is the plan for what a resource wants.
func (b *batches) ask(ctx context.Context, part model.Key, w wanting) ([]plan.Object, error) {
	q := &question{part: part, wanting: w, done: make(chan struct{})}
	b.mu.Lock()
	b.queue = append(b.queue, q)
	if !b.busy {
		b.busy = true
		go b.work(context.WithoutCancel(ctx))
	}
	b.mu.Unlock()
	select {
	case <-q.done:
		return q.plan, q.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// work answers questions until there are none.
func (b *batches) work(ctx context.Context) {
	for {
		b.mu.Lock()
		list := b.queue
		if b.queue = nil; len(list) == 0 {
			b.busy = false
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		p, err := b.plan(ctx, list)
		for _, q := range list {
			q.answer(p, err)
		}
	}
}

// answer takes the resource's part of a plan.
func (q *question) answer(p plan.Plan, err error) {
	defer close(q.done)
	if q.err = err; err != nil {
		return
	}
	own := map[model.Key]bool{}
	for _, k := range keys(q.want) {
		own[k] = true
	}
	for _, o := range p.Objects {
		image, _, copied := o.Owner.CopyOf()
		if own[o.Owner.Key] || copied && own[image] {
			q.plan = append(q.plan, o)
		}
	}
}

// planAll plans what several resources want. What others want is known and isn't planned for.
func (d *door) planAll(ctx context.Context, list []*question) (plan.Plan, error) {
	d.mu.Lock()
	if d.away != nil && time.Since(d.awaySince) < awayFor {
		defer d.mu.Unlock()
		return plan.Plan{}, d.away
	}
	for _, q := range list {
		d.planned[q.part] = q.wanting
	}
	now := time.Now()
	if d.picture == nil || now.Sub(d.picture.Since) > pictureAge {
		d.picture = d.config.picture(now)
	}
	parts, others := map[model.Key]model.Desired{}, map[model.Key]bool{}
	said := d.said()
	for part, w := range d.planned {
		if parts[part] = w.want; !w.said {
			parts[part] = without(w.want, func(o model.Owner) bool { return said[o.Key] })
		}
		for _, k := range keys(w.want) {
			others[k] = true
		}
	}
	s, pic := d.site, d.picture
	d.mu.Unlock()
	for _, q := range list {
		for _, k := range keys(q.want) {
			delete(others, k)
		}
	}
	want := merged(parts)
	want.Seen, want.Unasked = others, d.unasked(list)
	p, err := s.PlanAsOf(ctx, want, pic)
	if err != nil && ctx.Err() == nil && s.Observer().Snapshot().Listed.IsZero() {
		d.mu.Lock()
		d.away, d.awaySince = err, time.Now()
		d.mu.Unlock()
	}
	return p, err
}

// said are the machines and snapshots that configurations say something about. What a state has of one that another resource's
// configuration wants doesn't count. The caller holds the lock.
func (d *door) said() map[model.Key]bool {
	all := map[model.Key]bool{}
	for _, w := range d.planned {
		if !w.said {
			continue
		}
		for _, v := range w.want.VMs {
			all[v.Owner.Key] = true
		}
		for _, s := range w.want.Snapshots {
			all[s.Owner.Key] = true
		}
	}
	return all
}

// unasked are the new machines of some questions whose VMIDs aren't asked for, since enough of the configuration were, or since
// it is being applied: then Proxmox says whether they are taken.
func (d *door) unasked(list []*question) map[model.Key]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := map[model.Key]bool{}
	for _, q := range list {
		for _, v := range q.want.VMs {
			switch {
			case !q.fresh || d.config.refresh == refreshConfigs || d.asked[v.Owner.Key]:
			case len(d.asked) < probes && len(d.parts) == 0:
				d.asked[v.Owner.Key] = true
			default:
				keys[v.Owner.Key] = true
			}
		}
	}
	return keys
}

const (
	// pictureAge is how long one picture of Proxmox is good for: resources are looked at one after another, and
	// are planned for by what was seen then.
	pictureAge = 30 * time.Second
	// awayFor is how long a Proxmox that hasn't answered anything yet isn't asked again: each resource would wait as long for it, or
	// log in with the same wrong password.
	awayFor = 10 * time.Second
	// few is of how many machines a refresh reads the configs though the lists show them to be up to date.
	few = 100
	// turn is how many more have their turn.
	turn = 30
	// probes is of how many new machines it is asked whether guests that these credentials can't see have their VMIDs. Credentials
	// that see nothing of what was made before are found out by one.
	probes = 1
)

// picture is a new picture of Proxmox. Another minute goes on with other machines.
func (c *config) picture(now time.Time) *engine.Picture {
	pic := &engine.Picture{Since: now, Few: few, Turn: turn, First: int(now.Unix()/60) * turn}
	if c.refresh == refreshConfigs {
		pic.Few = -1
	}
	return pic
}
