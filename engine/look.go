package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// reading is something that is being read, for all who need it.
type reading struct{ waiting []*object }

// question is one thing to read.
type question struct {
	name string
	vmid int // of the guest that it is about; 0: of none that must be there
	// begin is called in the order of the questions, and what it returns side by side.
	begin func() (ask func(context.Context) error)
}

// plainly wraps a question that needs no preparation.
func plainly(ask func(context.Context) error) func() func(context.Context) error {
	return func() func(context.Context) error { return ask }
}

// questions returns the single questions of a look.
func (e *Engine) questions(l plan.Look) []question {
	var list []question
	about := func(vmid int, what string, begin func() func(context.Context) error) {
		list = append(list, question{fmt.Sprintf("%s of VM %d", what, vmid), vmid, begin})
	}
	each := func(what string, ids []int, ask func(context.Context, int) error) {
		for _, vmid := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			about(vmid, what, plainly(func(ctx context.Context) error { return ask(ctx, vmid) }))
		}
	}
	some := func(name string, ask func(context.Context) error) {
		list = append(list, question{name: name, begin: plainly(ask)})
	}
	each("config", l.Configs, e.observer.Config)
	each("snapshots", l.Snapshots, e.observer.Snapshots)
	each("firewall", l.Firewalls, e.observer.Firewall)
	for _, vmid := range slices.Compact(slices.Sorted(slices.Values(l.Status))) {
		about(vmid, "status", func() func(context.Context) error { return e.observer.AskStatus(vmid) })
	}
	for _, vmid := range slices.Compact(slices.Sorted(slices.Values(l.IDs))) {
		some(fmt.Sprintf("VMID of VM %d", vmid), func(ctx context.Context) error { return e.observer.ID(ctx, vmid) })
	}
	each("agent", l.Ready, e.observer.Sound)
	for _, whole := range []struct {
		wanted bool
		name   string
		ask    func(context.Context) error
	}{
		{l.Files, "files of the storages", e.observer.Files},
		{l.Snippets, "snippets of the storages", e.observer.Snippets},
		{l.Dirs, "directory mappings", e.observer.Dirs},
		{l.HA, "HA", e.observer.HA},
		{l.Firewall, "firewall of the cluster", e.observer.ClusterFirewall},
		{l.FirewallOff, "switch of the cluster's firewall", e.observer.FirewallOff},
		{l.Volumes, "disks of the storages", e.observer.Volumes},
		{l.Left, "disks that tasks have left", e.observer.Left},
		{l.Held, "privileges", e.observer.Held},
	} {
		if whole.wanted {
			some(whole.name, whole.ask)
		}
	}
	every := func(what string, names []string, ask func(context.Context, string) error) {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			some(what+" "+name, func(ctx context.Context) error { return ask(ctx, name) })
		}
	}
	every("bridges of", l.Bridges, e.observer.Bridges)
	every("disks on", l.Disks, e.observer.Disks)
	every("storages of", l.Storages, e.observer.Storages)
	every("mappings of", l.Mappings, e.observer.Mappings)
	every("what is at", l.URLs, e.observer.URL)
	every("rights on", l.Rights, e.observer.Rights)
	return list
}

// read reads everything in a look, and answers further questions, side by side.
func (e *Engine) read(ctx context.Context, l plan.Look, more ...question) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, q := range append(e.questions(l), more...) {
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

// Learn reads what a plan that was made elsewhere needs.
func (e *Engine) Learn(ctx context.Context, l plan.Look) error {
	return e.reconnecting(ctx, func() error { return e.read(ctx, l) })
}

// look reads the facts that an object's plan lacks. Facts that are being read for another object
// aren't requested twice.
func (r *run) look(o *object, l plan.Look) {
	if o.looks++; o.looks > maxLooks {
		o.looks = 0
		r.noteFailure(o, "looking", act.Failure{Class: act.Passing, Text: "what was read keeps changing, so that no plan can be made; another look is taken later"})
		r.due[o] = true
		return
	}
	for _, q := range append(r.e.questions(l), o.part.standing.party.questions(l.Groups)...) {
		o.reads++
		if under := r.reads[q.name]; under != nil {
			under.waiting = append(under.waiting, o)
			continue
		}
		r.reads[q.name] = &reading{waiting: []*object{o}}
		ask := q.begin()
		r.call(func() func() {
			err := ask(r.ctx)
			return func() { r.answered(q, err) }
		})
	}
}

// answered continues the objects that waited for something to be read.
func (r *run) answered(q question, err error) {
	under := r.reads[q.name]
	delete(r.reads, q.name)
	for _, o := range under.waiting {
		if err != nil {
			o.unanswered = append(o.unanswered, unanswered{q.name, q.vmid, err})
		}
		if o.reads--; o.reads == 0 {
			r.lookedInVain(o)
			delete(r.leaving, o)
			r.due[o] = true
		}
	}
}

// unanswered is what couldn't be read for an object.
type unanswered struct {
	what string
	vmid int
	err  error
}

// lookedInVain records what couldn't be read for an object. The order is that of the names, not that of
// the answers, since the last failure is reported.
func (r *run) lookedInVain(o *object) {
	slices.SortFunc(o.unanswered, func(a, b unanswered) int { return strings.Compare(a.what, b.what) })
	for _, u := range o.unanswered {
		r.lookFailed(o, u.what, u.vmid, u.err)
	}
	o.unanswered = nil
}

// lookFailed records that something couldn't be read; vmid is the guest that it is about, or 0.
func (r *run) lookFailed(o *object, what string, vmid int, err error) {
	f := act.Judge(err)
	switch f.Class {
	case act.Stopped:
		return
	case act.Fatal:
		r.fatal = err
		return
	}
	if !o.phase.pending() {
		return // nobody wants to know any more
	}
	r.noteFailure(o, "reading the "+what, f)
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	if noted, ok := o.part.standing.failed[o.owner.Key]; ok {
		noted.Unread, noted.Guest = true, vmid
		o.part.standing.failed[o.owner.Key] = noted
	}
}

// outdated reports whether a guest of which something couldn't be read was touched since: it
// may be another guest by now, so that says nothing any more.
func (r *run) outdated(f model.Failure) bool {
	return f.Unread && f.Guest != 0 && r.e.observer.Touched(f.Guest, f.At)
}

// touched returns the guests that were touched since something failed.
func (r *run) touched(f model.Failure, vmids []int) []int {
	return slices.DeleteFunc(slices.Clone(vmids), func(vmid int) bool { return !r.e.observer.Touched(vmid, f.At) })
}
