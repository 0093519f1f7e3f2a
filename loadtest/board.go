package loadtest

import (
	"context"
	"errors"
	"sync"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// board is what is wanted at present, for all who want something of the session.
type board struct {
	session *engine.Session

	mu       sync.Mutex
	want     model.Desired
	versions map[model.Key]int64
	waiting  map[model.Key]chan engine.Outcome
}

func newBoard(set string, image model.Image) *board {
	return &board{
		want:     model.Desired{Set: set, Images: []model.Image{image}},
		versions: map[model.Key]int64{}, waiting: map[model.Key]chan engine.Outcome{},
	}
}

// vm wants a machine, in the place of the one that the same owner had wanted.
func (b *board) vm(ctx context.Context, v model.VM) (engine.Outcome, error) {
	return b.ask(ctx, v.Owner.Key, func(d *model.Desired) {
		vms := make([]model.VM, 0, len(d.VMs)+1)
		for _, other := range d.VMs {
			if other.Owner.Key != v.Owner.Key {
				vms = append(vms, other)
			}
		}
		d.VMs = append(vms, v)
	})
}

func (b *board) snapshot(ctx context.Context, s model.Snapshot) (engine.Outcome, error) {
	return b.ask(ctx, s.Owner.Key, func(d *model.Desired) {
		d.Snapshots = append(d.Snapshots[:len(d.Snapshots):len(d.Snapshots)], s)
	})
}

// ask wants something and waits until it is so.
func (b *board) ask(ctx context.Context, key model.Key, change func(*model.Desired)) (engine.Outcome, error) {
	told := make(chan engine.Outcome, 1)
	b.mu.Lock()
	change(&b.want)
	b.versions[key]++
	b.waiting[key] = told
	versions := make(map[model.Key]int64, len(b.versions))
	for k, v := range b.versions {
		versions[k] = v
	}
	b.session.Want(b.want, versions)
	b.mu.Unlock()
	select {
	case out := <-told:
		if out.State == engine.StateReady {
			return out, nil
		}
		return out, errors.New(status.CLI.Say(status.Text(out.Text, out.Diff), out.Do))
	case <-ctx.Done():
		return engine.Outcome{}, context.Cause(ctx)
	}
}

// changed hears of objects that have come further.
func (b *board) changed(out engine.Outcome) {
	switch out.State {
	case engine.StateReady, engine.StateFailed, engine.StateRefused:
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := out.Owner.Key
	if told := b.waiting[key]; told != nil && out.Version == b.versions[key] {
		delete(b.waiting, key)
		told <- out
	}
}
