package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/plan"
)

// reading is something that is being read, for all who need it.
type reading struct{ waiting []*object }

// question is one thing to read.
type question struct {
	name string
	// begin is called in the order of the questions, and what it returns side by side.
	begin func() (ask func(context.Context) error)
}

// plainly asks a question that needs nothing before.
func plainly(ask func(context.Context) error) func() func(context.Context) error {
	return func() func(context.Context) error { return ask }
}

// questions takes a look apart.
func (e *Engine) questions(l plan.Look) []question {
	var list []question
	each := func(what string, ids []int, ask func(context.Context, int) error) {
		slices.Sort(ids)
		for _, vmid := range slices.Compact(ids) {
			list = append(list, question{fmt.Sprintf("%s of VM %d", what, vmid), plainly(func(ctx context.Context) error { return ask(ctx, vmid) })})
		}
	}
	each("config", slices.Clone(l.Configs), e.observer.Config)
	each("snapshots", slices.Clone(l.Snapshots), e.observer.Snapshots)
	for _, vmid := range slices.Compact(slices.Sorted(slices.Values(l.Status))) {
		list = append(list, question{fmt.Sprintf("status of VM %d", vmid), func() func(context.Context) error { return e.observer.AskStatus(vmid) }})
	}
	each("VMID", slices.Clone(l.IDs), e.observer.ID)
	each("agent", slices.Clone(l.Ready), e.observer.Sound)
	if l.Files {
		list = append(list, question{"files of the storages", plainly(e.observer.Files)})
	}
	if l.Snippets {
		list = append(list, question{"snippets of the storages", plainly(e.observer.Snippets)})
	}
	if l.Dirs {
		list = append(list, question{"directory mappings", plainly(e.observer.Dirs)})
	}
	if l.HA {
		list = append(list, question{"HA", plainly(e.observer.HA)})
	}
	if l.Volumes {
		list = append(list, question{"disks of the storages", plainly(e.observer.Volumes)})
	}
	every := func(what string, names []string, ask func(context.Context, string) error) {
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			list = append(list, question{what + " " + name, plainly(func(ctx context.Context) error { return ask(ctx, name) })})
		}
	}
	every("bridges of", slices.Clone(l.Bridges), e.observer.Bridges)
	every("storages of", slices.Clone(l.Storages), e.observer.Storages)
	every("mappings of", slices.Clone(l.Mappings), e.observer.Mappings)
	every("what is at", slices.Clone(l.URLs), e.observer.URL)
	every("rights on", slices.Clone(l.Rights), e.observer.Rights)
	return list
}

// read reads all of it, side by side.
func (e *Engine) read(ctx context.Context, l plan.Look) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, q := range e.questions(l) {
		ask := q.begin()
		all.Go(func() {
			if err := ask(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// look reads what an object's plan needs to know. What is being read for somebody
// else already isn't read again.
func (r *run) look(o *object, l plan.Look) {
	if o.looks++; o.looks > maxLooks {
		o.looks = 0
		r.blame(o, "looking", act.Failure{Class: act.Passing, Text: "what is to be seen isn't seen, however often it is looked at"})
		r.due[o] = true
		return
	}
	for _, q := range r.e.questions(l) {
		o.busy++
		if under := r.reads[q.name]; under != nil {
			under.waiting = append(under.waiting, o)
			continue
		}
		r.reads[q.name] = &reading{waiting: []*object{o}}
		ask := q.begin()
		r.fly(func() func() {
			err := ask(r.ctx)
			return func() { r.answered(q, err) }
		})
	}
}

// answered goes on with those who waited for something to be read.
func (r *run) answered(q question, err error) {
	under := r.reads[q.name]
	delete(r.reads, q.name)
	for _, o := range under.waiting {
		if err != nil {
			r.lookFailed(o, q.name, err)
		}
		if o.busy--; o.busy == 0 {
			delete(r.leaving, o)
			r.due[o] = true
		}
	}
}

// lookFailed notes that something couldn't be read.
func (r *run) lookFailed(o *object, what string, err error) {
	f := act.Judge(err)
	switch f.Class {
	case act.Stopped:
		return
	case act.Fatal:
		r.fatal = err
		return
	}
	r.blame(o, "reading the "+what, f)
}
