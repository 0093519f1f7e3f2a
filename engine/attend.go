package engine

import (
	"context"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
)

// attends answers for a party's guests while no run manages them: before [Engine.Converge]
// begins, and after it has ended.
type attends struct {
	e        *Engine
	want     model.Desired
	standing *standing
}

// Attend joins a budget for a later [Engine.Converge]. Several engines share one when a
// command works on several Proxmox clusters. All of them attend before the first converges,
// so that each counts the guests of all.
func (e *Engine) Attend(b *Budget, name string, want model.Desired) *Party {
	want = e.seal(want)
	p := b.Join(name)
	p.Expect(want)
	of := &attends{e, want, newStanding()}
	e.mu.Lock()
	of.standing.party = p
	e.memory.all[of.standing] = true
	e.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	p.attends = of
	for _, guests := range p.guests {
		for i := range guests {
			guests[i].matters = runs(want, guests[i].key) // nobody remembers which of them were made
		}
	}
	return p
}

// runs reports whether a guest is to run.
func runs(want model.Desired, key model.Key) bool {
	for _, v := range want.VMs {
		if v.Owner.Key == key {
			return !v.Deleted && v.Power == model.PowerOn
		}
	}
	return false
}

// standingOf returns the standing of a party's objects.
func (e *Engine) standingOf(p *Party) *standing {
	if p != nil && p.attends != nil {
		return p.attends.standing
	}
	return e.memory.alone
}

// attended returns the guests of a group that the engine finds unavailable.
func (p *Party) attended(ctx context.Context, a *attends, group string) []model.Absent {
	away, err := a.e.away(ctx, a.want, a.standing, group)
	if err != nil {
		return p.unknown(group, p.name+": "+act.Judge(err).Text)
	}
	return away
}

// goesOn records that a run has something to do again.
func (p *Party) goesOn() {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.resting = false
}

// rests records that a run can only wait for the guests of other parties. It reports whether
// one of those still works, so that waiting may help.
func (p *Party) rests() (others bool) {
	if p == nil {
		return false
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	news := !p.resting
	p.resting = true
	others = p.queues()
	for _, other := range p.budget.parties {
		if other == p || other.run == nil {
			continue
		}
		others = others || !other.resting
		if news {
			other.run.post(func() {}) // it may have waited for this one
		}
	}
	return others
}
