package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// Meter counts the requests of a client: [Meter.Observe] is for its configuration.
type Meter struct{ requests, writes atomic.Int64 }

// Observe counts a request.
func (m *Meter) Observe(x pve.Exchange) {
	m.requests.Add(1)
	if x.Method != "GET" {
		m.writes.Add(1)
	}
}

// Load is a load to put on a Proxmox.
type Load struct {
	Machines
	Parallel int // operations at once
	Sites    *site.Sites
	Config   site.Config // of the Proxmox
	Meter    *Meter
	// Describe reads everything about a machine, as `proxplane describe` does.
	Describe func(ctx context.Context, vmid int) error
	// Progress hears of the end of each kind of operation.
	Progress func(Figures)
}

// The operations, in the order in which they are done: each machine is made, used
// and shut down.
const (
	Create      = "create"
	PowerOn     = "power on"
	Reconfigure = "reconfigure CPU"
	Snapshot    = "snapshot with memory"
	Clone       = "linked clone"
	Describe    = "describe"
	PowerOff    = "power off"
)

// Run runs the load. The figures are of what was done until ctx ended; the error says why
// it ended early. The machines stay: see [Load.Clean].
func (l *Load) Run(ctx context.Context) ([]Figures, error) {
	w, err := l.objects()
	if err != nil {
		return nil, err
	}
	s, err := l.Sites.Open(l.Config, site.Options{Door: door, Set: l.Set})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.PutImage(w.image.Owner, w.image); err != nil {
		return nil, err
	}
	r := &running{Load: l, site: s, begun: time.Now(), vmids: make([]int, l.Count)}
	var all []Figures
	for _, op := range r.operations(w) {
		if op.name == Describe {
			r.settle(ctx, w)
		}
		f := r.phase(ctx, op)
		all = append(all, f)
		l.Progress(f)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		if f.Done == 0 {
			return all, fmt.Errorf("%s failed each time: %s", op.name, f.Samples[0].Error)
		}
	}
	return all, nil
}

// running is a load that is on.
type running struct {
	*Load
	site  *site.Site
	begun time.Time
	vmids []int // of the machines, as far as they are there
}

// operation is something that is done to each machine.
type operation struct {
	name string
	do   func(ctx context.Context, i int) error
}

func (r *running) operations(w objects) []operation {
	powered := func(v model.VM, p model.Power) model.VM {
		v.Power = p
		return v
	}
	vm := func(v model.VM) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			out, err := r.put(ctx, v)
			r.vmids[i] = out.VMID
			return err
		}
	}
	return []operation{
		{Create, func(ctx context.Context, i int) error { return vm(w.machines[i])(ctx, i) }},
		{PowerOn, func(ctx context.Context, i int) error { return vm(powered(w.machines[i], model.PowerOn))(ctx, i) }},
		{Reconfigure, func(ctx context.Context, i int) error { return vm(powered(w.larger[i], model.PowerOn))(ctx, i) }},
		{Snapshot, func(ctx context.Context, i int) error {
			if err := r.site.PutSnapshot(w.snapshots[i].Owner, w.snapshots[i]); err != nil {
				return err
			}
			_, err := r.await(ctx, w.snapshots[i].Owner)
			return err
		}},
		{Clone, func(ctx context.Context, i int) error {
			_, err := r.put(ctx, w.copies[i])
			return err
		}},
		{Describe, func(ctx context.Context, i int) error { return r.Load.Describe(ctx, r.vmids[i]) }},
		{PowerOff, func(ctx context.Context, i int) error {
			return vm(powered(w.larger[i], model.PowerOffGraceful))(ctx, i)
		}},
	}
}

// put wants a machine and waits until it is so.
func (r *running) put(ctx context.Context, v model.VM) (site.Outcome, error) {
	if err := r.site.Put(v.Owner, v); err != nil {
		return site.Outcome{}, err
	}
	return r.await(ctx, v.Owner)
}

// await waits until something is as it is wanted. What goes wrong with several machines is
// said in the same words of each.
func (r *running) await(ctx context.Context, owner model.Owner) (site.Outcome, error) {
	out, err := r.site.Await(ctx, owner, site.Ready)
	var why *site.AwaitError
	switch {
	case errors.As(err, &why) && why.Err != nil:
		err = why.Err
	case why != nil:
		err = errors.New(status.CLI.Say(out.Text, out.Do))
	}
	return out, err
}

// bootTime bounds how long guests are waited for.
const bootTime = 30 * time.Second

// settle waits until the guests have booted, as far as they have an agent that tells:
// Proxmox takes seconds to say that an agent isn't up, which is no way to measure
// anything else.
func (r *running) settle(ctx context.Context, w objects) {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	var all sync.WaitGroup
	for _, v := range w.larger {
		v.Power, v.WaitAddress = model.PowerOn, true
		all.Go(func() { _, _ = r.put(ctx, v) }) // who has no agent is described without
	}
	all.Wait()
}

// phase does one operation to all machines, so many at once.
func (r *running) phase(ctx context.Context, op operation) Figures {
	requests, writes, begun := r.Meter.requests.Load(), r.Meter.writes.Load(), time.Now()
	samples := make([]Sample, r.Count)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(r.Parallel, r.Count) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= r.Count {
					return
				}
				samples[i] = r.once(ctx, op, i)
			}
		})
	}
	workers.Wait()
	samples = samples[:min(int(next.Load()), r.Count)]
	return figure(op.name, samples, time.Since(begun), r.Meter.requests.Load()-requests, r.Meter.writes.Load()-writes)
}

func (r *running) once(ctx context.Context, op operation, i int) Sample {
	start := time.Now()
	err := op.do(ctx, i)
	s := Sample{Start: start.Sub(r.begun), Took: time.Since(start)}
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// Clean removes all machines of the set, of this run or of earlier ones, and returns their
// number.
func (l *Load) Clean(ctx context.Context) (removed int, err error) {
	s, err := l.Sites.Open(l.Config, site.Options{})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	rep, err := s.Apply(ctx, model.Desired{Door: door, Set: l.Set, Range: model.DefaultRange, Prune: true, Allow: model.Allow{Data: true}}, engine.Options{})
	errs := []error{err}
	for _, o := range rep.Objects {
		switch o.State {
		case engine.StateGone:
			removed++
		case engine.StateReady:
		default:
			errs = append(errs, fmt.Errorf("%s (VM %d) is left: %s", o.Owner.Key, o.VMID, status.CLI.Say(status.Text(o.Text, o.Diff), o.Do)))
		}
	}
	return removed, errors.Join(errs...)
}
