package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/proxplane/proxplane/test/bench/world"
)

// makeSome makes machines and deletes them again.
func (r *report) makeSome(ctx context.Context, l *lab) (err error) {
	said("%d machines are made and deleted ...", r.some)
	p, err := l.begin(ctx, "some", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	r.made, err = p.measure(ctx, func() error {
		if err := p.create(ctx, 0, r.some); err != nil {
			return err
		}
		return p.awaitReady(ctx, r.some, r.some)
	})
	if err != nil {
		return err
	}
	if r.deleted, err = p.measure(ctx, func() error { return p.deleteAll(ctx, r.some) }); err != nil {
		return err
	}
	failed, err := world.FailedTasks(ctx, p.sim)
	if err != nil {
		return err
	}
	if r.failed = len(failed); r.failed > 0 {
		return fmt.Errorf("%d tasks have failed, such as %s", r.failed, failed[0])
	}
	return p.left(ctx)
}

// left tells what is still there of machines that are gone.
func (p *part) left(ctx context.Context) error {
	state, err := p.sim.State(ctx)
	if err != nil {
		return err
	}
	for _, vm := range state.VMs {
		if vm.Conf["template"] == "" {
			return fmt.Errorf("VM %d is still there", vm.ID)
		}
	}
	return nil
}

// deletions is how many are measured; the median counts.
const deletions = 3

// deleteAmid deletes machines alone, and amid the creation of many others, where each
// storage serves four clones at a time.
func (r *report) deleteAmid(ctx context.Context, l *lab) (err error) {
	said("a machine is deleted alone, and amid %d new ones ...", r.some)
	const places = 4
	p, err := l.begin(ctx, "amid", places)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	if err := p.create(ctx, 0, 2*deletions); err != nil {
		return err
	}
	if err := p.awaitReady(ctx, 2*deletions, 2*deletions); err != nil {
		return err
	}
	if r.alone, err = p.deletions(ctx, 0); err != nil {
		return err
	}
	if err := p.create(ctx, 2*deletions, 2*deletions+r.some); err != nil {
		return err
	}
	// Then the first have all steps behind them, and most wait for their clone.
	if err := p.awaitSome(ctx, r.some/10); err != nil {
		return err
	}
	if r.amid, err = p.deletions(ctx, deletions); err != nil {
		return err
	}
	r.unfinished, err = p.ready(ctx)
	r.unfinished = r.some - r.unfinished
	return err
}

// awaitSome waits until so many machines have become ready beside the first ones.
func (p *part) awaitSome(ctx context.Context, n int) error {
	return p.until(ctx, fmt.Sprintf("%d machines become ready", n), func() (bool, error) {
		r, err := p.read(ctx)
		return r.readied >= float64(2*deletions+n), err
	})
}

// deletions deletes some machines one after the other, and tells how long that
// takes in the middle.
func (p *part) deletions(ctx context.Context, first int) (time.Duration, error) {
	var all []time.Duration
	for n := range deletions {
		took, err := p.deleteOne(ctx, first+n)
		if err != nil {
			return 0, err
		}
		all = append(all, took)
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// keepMany makes many machines, and looks at the operator while nothing happens:
// the one that has made them, and one that was started beside them.
func (r *report) keepMany(ctx context.Context, l *lab) (err error) {
	if r.many == 0 {
		return nil
	}
	said("%d machines are made ...", r.many)
	p, err := l.begin(ctx, "many", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	r.madeMany, err = p.measure(ctx, func() error {
		if err := p.create(ctx, 0, r.many); err != nil {
			return err
		}
		return p.awaitReady(ctx, r.many, r.many)
	})
	if err != nil {
		return err
	}
	said("they are there after %s; waiting until nothing happens ...", r.madeMany.wall.Round(time.Second))
	if r.kept, err = p.atRest(ctx, r.rest, "made"); err != nil {
		return err
	}
	said("the same with an operator that is started now ...")
	if err := p.stopOperator(); err != nil {
		return err
	}
	begun := time.Now()
	if err := p.startOperator(ctx); err != nil {
		return err
	}
	if r.found, err = p.atRest(ctx, r.rest, "found"); err != nil {
		return err
	}
	now, err := p.read(ctx)
	if err != nil {
		return err
	}
	r.start = now.since(reading{at: begun})
	n, err := p.ready(ctx)
	if err == nil && n != r.many {
		err = fmt.Errorf("%d of %d machines are ready in the end", n, r.many)
	}
	return err
}

// atRest measures when nothing happens.
func (p *part) atRest(ctx context.Context, how time.Duration, moment string) (cost, error) {
	if err := p.settle(ctx); err != nil {
		return cost{}, err
	}
	c, err := p.watch(ctx, how)
	if err != nil {
		return c, err
	}
	return c, p.profile(ctx, moment)
}
