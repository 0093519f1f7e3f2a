// Package engine reconciles the wanted with the observed state: it observes, plans, acts,
// and observes again, until everything is up to date.
//
// [Engine.Converge] returns when everything is up to date or nothing more can be done.
// [Engine.Serve] keeps reconciling while the wanted state changes. Both may be stopped or
// killed at any moment: tasks continue in Proxmox, and the next run starts from the
// observed state. No state is stored elsewhere.
package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/privileges"
)

// Engine works on one Proxmox cluster. Several runs and sessions may share it, with all
// observations and failures.
type Engine struct {
	observer *observe.Observer
	actor    *act.Actor

	mu     sync.Mutex
	memory memory
}

// New makes an Engine.
func New(observer *observe.Observer, actor *act.Actor) *Engine {
	return &Engine{observer: observer, actor: actor, memory: newMemory()}
}

// Options of a run or session. The zero value is usable.
type Options struct {
	// Parallel limits how many objects are worked on at once; 0: as many as Proxmox can
	// handle.
	Parallel int
	// Patience is the timeout of waits for others: for the end of a lock, for a node that is
	// offline, for an agent's answer. Default: five minutes.
	Patience time.Duration
	// Agreed is what the user has agreed to after seeing the plan: no other step that
	// restarts, replaces or loses something is done. nil: everything that the manifests and
	// Desired.Allow allow.
	Agreed *plan.Agreement
	// Events receives events, in order. It must return quickly.
	Events func(Event)
	// Progress says that the progress of copies is polled.
	Progress bool
	// Changed receives the outcome of an object of a [Session] whenever it has changed. It
	// must return quickly.
	Changed func(Outcome)
	// Trouble receives why nothing can be done in a [Session], and since when; nil: the
	// trouble is over.
	Trouble func(*plan.Wait, time.Time)
	// Looked is called in a [Session] whenever everything was observed.
	Looked func()
	// Party is the member of a budget that is shared with others; nil: only this run's machines
	// are counted. For [Engine.Converge] it is from [Engine.Attend].
	Party *Party
	// Verify is the period in which the configs of all guests of a [Session] are read again, a few at a time, since lists don't show all
	// changes by hand. Default: an hour.
	Verify time.Duration
	// Claim stores the VMID of an object, before a guest is created under it.
	Claim func(ctx context.Context, owner model.Owner, vmid int, node string) error
}

const defaultPatience = 5 * time.Minute

func (o Options) withDefaults() Options {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Verify == 0 {
		o.Verify = verifyRound
	}
	if o.Events == nil {
		o.Events = func(Event) {}
	}
	return o
}

// Plan reads everything that a plan depends on and returns the plan: the lists, the configs
// of all guests concerned, and their power states from their nodes. It changes nothing, and
// doesn't ask guest agents: a guest without a known address has that as a look. With
// want.Quick it relies on the lists where they show nothing to do.
func (e *Engine) Plan(ctx context.Context, want model.Desired) (plan.Plan, error) {
	return e.planSince(ctx, want, whole(time.Now()), nil)
}

// Replan plans like [Engine.Plan], for repeated calls: it reuses configs that were read before, unless
// lists show that they may have changed.
func (e *Engine) Replan(ctx context.Context, want model.Desired) (plan.Plan, error) {
	at := time.Now()
	return e.planSince(ctx, want, age{lists: at, powers: at}, nil)
}

// age says since when what a plan relies on has to be read.
type age struct{ lists, configs, powers time.Time }

// whole returns an age at which all facts have to be read since one time.
func whole(at time.Time) age { return age{lists: at, configs: at, powers: at} }

// planSince plans with facts that were read since the times of an age.
func (e *Engine) planSince(ctx context.Context, want model.Desired, since age, known *standing) (plan.Plan, error) {
	if err := distinct(want); err != nil {
		return plan.Plan{}, err
	}
	want.Foresee = true
	if err := e.reconnecting(ctx, func() error { return e.refreshSince(ctx, since.lists) }); err != nil {
		return plan.Plan{}, err
	}
	steps := e.seal(want)
	steps.Unheard = true
	p, err := e.planDeep(ctx, steps, known, func(o plan.Object) plan.Look {
		var l plan.Look
		if want.Quick || o.VMID == 0 {
			return l
		}
		config, power := e.observer.Outdated(o.VMID, since.configs, since.powers)
		if config {
			l.Configs = []int{o.VMID}
		}
		if power {
			l.Status = []int{o.VMID}
		}
		if e.observer.FirewallOutdated(o.VMID, since.configs) {
			l.Firewalls = []int{o.VMID}
		}
		return l
	})
	switch {
	case err != nil:
		return p, err
	case want.Quick:
		return byLists(p, want), nil
	}
	return e.heardOf(p, want, known), nil
}

// byLists returns a plan that marks the machines of which only the lists were read.
func byLists(p plan.Plan, want model.Desired) plan.Plan {
	machines := map[model.Key]bool{}
	for _, v := range want.VMs {
		machines[v.Owner.Key] = !v.Deleted
	}
	for i, o := range p.Objects {
		p.Objects[i].Unread = machines[o.Owner.Key] && o.VMID != 0 && o.Ready()
	}
	return p
}

// Heard returns a plan with the addresses that guest agents have reported so far, for
// guests without steps that wait for one. It sends no request.
func (e *Engine) Heard(p plan.Plan, want model.Desired) plan.Plan { return e.heardOf(p, want, nil) }

func (e *Engine) heardOf(p plan.Plan, want model.Desired, known *standing) plan.Plan {
	p.Objects = slices.Clone(p.Objects)
	waits := map[model.Key]plan.Object{}
	for _, o := range e.plan(e.seal(want), known).Objects {
		waits[o.Owner.Key] = o
	}
	for i, o := range p.Objects {
		if with, ok := waits[o.Owner.Key]; ok && o.Unchanged() && with.Unchanged() {
			p.Objects[i] = with
			p.Objects[i].Notes = notesOf(with, o)
		}
	}
	return p
}

// notesOf are the notes of an object's plan, and those that only the plan before it has: disks that were left are looked for by
// plans that people see.
func notesOf(now, before plan.Object) []plan.Note {
	notes := slices.Clone(now.Notes)
	for _, n := range before.Notes {
		if !slices.ContainsFunc(notes, func(o plan.Note) bool { return o.Text == n.Text }) {
			notes = append(notes, n)
		}
	}
	return notes
}

// planDeep plans, reads the facts that the plan lacks, and plans again until it lacks none. more
// returns further facts to read for an object.
func (e *Engine) planDeep(ctx context.Context, want model.Desired, known *standing, more func(plan.Object) plan.Look) (p plan.Plan, err error) {
	err = untilKnown(func() plan.Look {
		p = e.plan(want, known)
		look := p.Look()
		look.Agents = nil
		for _, o := range p.Objects {
			look.Status = append(look.Status, e.unsure(o.Next())...)
			look.Configs = append(look.Configs, e.unproved(o.Next())...)
			look.Add(more(o))
		}
		return look
	}, func(look plan.Look) error {
		return e.reconnecting(ctx, func() error { return e.read(ctx, look, known.partyOf().questions(look.Groups)...) })
	})
	return p, err
}

// untilKnown reads what missing returns until nothing is missing. A session does the same for each object,
// without blocking: see [run.look].
func untilKnown(missing func() plan.Look, read func(plan.Look) error) error {
	for n := 0; ; n++ {
		look := missing()
		if look.Empty() || n == maxLooks {
			return nil
		}
		if err := read(look); err != nil {
			return err
		}
	}
}

// View calls fn with the observed state; guests that are being created are in have.Placed.
// Nothing changes while fn runs. fn must not keep anything except guests, which are never
// modified.
func (e *Engine) View(fn func(have *model.Observed)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.observer.View(func(have *model.Observed) {
		e.memory.expire(have.At)
		have.Placed = e.memory.placed
		fn(have)
	})
}

// maxLooks bounds how often a plan may ask for further facts. Each round adds facts, so a few
// rounds are enough.
const maxLooks = 8

// plan plans with what is known now, without a request. known has the failures and restarts of a
// part's objects; nil: those of no session.
func (e *Engine) plan(want model.Desired, known *standing) plan.Plan {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.planLocked(want, known)
}

func (e *Engine) planLocked(want model.Desired, known *standing) (p plan.Plan) {
	if known == nil {
		known = e.memory.alone
	}
	e.observer.View(func(have *model.Observed) {
		e.memory.expire(have.At)
		have.Placed, have.Kept, have.Failed, have.Ignored = e.memory.placed, e.memory.kept, known.failed, known.deaf(have.At)
		have.Coming, have.Begun = e.memory.coming(have.Listed), e.memory.begun
		have.Rolling, have.Elsewhere, have.Bound = known.underWay(), nil, known.bound
		if !want.Foresee || known.party.attending() {
			have.Elsewhere = known.party.elsewhere(want, have.At)
		}
		p = privileges.Foresee(plan.For(want, have), want, have)
	})
	return p
}
