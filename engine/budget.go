package engine

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Budget counts the unavailable guests of each rollout group over all engines of a process.
// An engine that is about to restart or to replace a guest asks the others first, and
// registers the guest. If an engine can't be asked, all its guests count as unavailable.
type Budget struct {
	mu      sync.Mutex
	unread  Unread // nil: all is read
	parties []*Party
	// serials count, for each group, what may make an earlier plan wrong.
	serials map[string]int
}

// Unread returns the guests of a group that have no engine yet, since not all objects were
// read. done: they were read, and no further call is needed.
type Unread func(ctx context.Context, group string) (guests []model.Absent, done bool, err error)

// NewBudget makes a Budget. Unread may be nil.
func NewBudget(unread Unread) *Budget { return &Budget{unread: unread, serials: map[string]int{}} }

// Party is a member of a [Budget]: successive engines for the same objects.
type Party struct {
	budget *Budget
	name   string

	// All that follows belongs to the budget's lock.
	guests  map[string][]guest     // by group
	attends *attends               // nil: only a run knows them
	run     *run                   // nil: no engine manages them at present
	part    *part                  // of the run
	resting bool                   // the run can't go on before others have
	rolling map[model.Key][]string // those that it restarts or replaces, with their groups
	queue   []queued               // those that it is to restart or to replace, in this order
	counts  map[string]count       // by group: what the others have answered
	asking  map[string]*asking     // by group: what they are being asked
	seen    map[string]int         // by group: the serial at the last plan
}

// guest is a guest of a party.
type guest struct {
	key     model.Key
	matters bool // see [plan.Counts]
}

// Join adds a party. Its name is for people.
func (b *Budget) Join(name string) *Party {
	p := &Party{budget: b, name: name, rolling: map[model.Key][]string{}, counts: map[string]count{}, asking: map[string]*asking{}, seen: map[string]int{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parties = append(b.parties, p)
	return p
}

// Leave removes a party: its guests aren't managed any more.
func (p *Party) Leave() {
	p.Expect(model.Desired{})
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.budget.parties = slices.DeleteFunc(p.budget.parties, func(other *Party) bool { return other == p })
}

// Expect sets the guests of the party, also while it has no engine.
func (p *Party) Expect(want model.Desired) {
	if p == nil {
		return
	}
	guests := groupsOf(want)
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	was := p.guests
	p.guests = guests
	for group := range was {
		if !reflect.DeepEqual(was[group], guests[group]) {
			p.doubt(group)
		}
	}
	for group := range guests {
		if was[group] == nil {
			p.doubt(group)
		}
	}
}

// groupsOf returns the guests of each rollout group.
func groupsOf(want model.Desired) map[string][]guest {
	guests := map[string][]guest{}
	for _, v := range want.VMs {
		for _, group := range plan.RolledWith(want, v) {
			guests[group] = append(guests[group], guest{v.Owner.Key, plan.Counts(v)})
		}
	}
	return guests
}

// enter assigns the party's guests to a part of a run.
func (p *Party) enter(r *run, part *part) {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.run, p.part, p.resting = r, part, false
	p.doubtAll()
}

// exit ends the assignment to a part. Requests may still be in flight, which only the next run can observe.
func (p *Party) exit(part *part) {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	if p.part != part {
		return // another engine manages them by now
	}
	p.run, p.part, p.queue = nil, nil, nil
	clear(p.rolling)
	p.doubtAll()
}

func (p *Party) doubtAll() {
	for group := range p.guests {
		p.doubt(group)
	}
}

// doubt invalidates what other parties have counted of a group.
func (p *Party) doubt(group string) {
	p.budget.serials[group]++
	for _, other := range p.others(group) {
		delete(other.counts, group)
		if a := other.asking[group]; a != nil {
			a.void = true
		}
		other.wake()
	}
}

// others returns the other parties with guests of a group.
func (p *Party) others(group string) (list []*Party) {
	for _, other := range p.budget.parties {
		if other != p && len(other.guests[group]) > 0 {
			list = append(list, other)
		}
	}
	return list
}

// wake makes the party's run plan the objects again that wait for other parties.
func (p *Party) wake() {
	p.resting = false
	if r := p.run; r != nil {
		r.post(r.rollOn)
	}
}

// take records that a guest is restarted or replaced. It reports false, and records nothing, if
// another party has begun something since this was planned.
func (p *Party) take(key model.Key, groups []string) bool {
	if p == nil {
		return true
	}
	b := p.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, group := range groups {
		serial, seen := p.seen[group]
		if seen && serial != b.serials[group] || !seen && (b.unread != nil || len(p.others(group)) > 0) {
			return false
		}
	}
	p.rolling[key] = groups
	for _, group := range groups {
		b.serials[group]++
		if _, seen := p.seen[group]; seen {
			p.seen[group] = b.serials[group]
		}
	}
	return true
}

// release records that a guest isn't restarted or replaced any more, or has become ready.
func (p *Party) release(key model.Key) {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.unqueue(key)
	groups, taken := p.rolling[key]
	if !taken {
		p.missed(key)
		return
	}
	delete(p.rolling, key)
	for _, group := range groups {
		for _, other := range p.others(group) {
			delete(other.counts, group)
			if a := other.asking[group]; a != nil {
				a.released[key] = true
			}
			other.wake()
		}
	}
}

// missed invalidates the counts of parties that were answered that a guest is unavailable.
func (p *Party) missed(key model.Key) {
	for _, other := range p.budget.parties {
		for group, c := range other.counts {
			if other != p && slices.ContainsFunc(c.away, func(a model.Absent) bool { return a.Key == key }) {
				delete(other.counts, group)
				other.wake()
			}
		}
	}
}
