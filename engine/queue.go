package engine

import (
	"context"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Guests that one person wants on several Proxmox clusters are restarted and replaced in the order
// of the plan that was shown: those of the first party, by their names, then those of the next.

// queued is a guest that is to be restarted or replaced.
type queued struct {
	key    model.Key
	groups []string
}

// Queue registers the guests that a plan restarts or replaces. Parties that have joined the budget
// later wait until these are ready, or until the run has ended.
func (p *Party) Queue(planned plan.Plan) {
	vms := map[model.Key]model.VM{}
	for _, v := range p.attends.want.VMs {
		vms[v.Owner.Key] = v
	}
	var queue []queued
	for _, o := range planned.Objects {
		if v, ok := vms[o.Owner.Key]; ok && v.Hold == (model.Hold{}) && o.Disrupts(v) {
			queue = append(queue, queued{v.Owner.Key, plan.RolledWith(p.attends.want, v)})
		}
	}
	slices.SortStableFunc(queue, func(a, b queued) int { return model.CompareNames(a.key.Name, b.key.Name) })
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.queue = queue
	p.doubtAll()
}

// unqueue removes a guest that was restarted or replaced, or isn't to be any more.
func (p *Party) unqueue(key model.Key) {
	at := slices.IndexFunc(p.queue, func(q queued) bool { return q.key == key })
	if at < 0 {
		return
	}
	groups := p.queue[at].groups
	p.queue = slices.Delete(p.queue, at, at+1)
	for _, group := range groups {
		for _, other := range p.others(group) {
			other.wake()
		}
	}
}

// earlier returns the parties that have joined the budget before.
func (p *Party) earlier() []*Party {
	return p.budget.parties[:max(0, slices.Index(p.budget.parties, p))]
}

// ahead returns the guests of a group that others are to restart or to replace first.
func (p *Party) ahead(group string) (keys []model.Key) {
	for _, other := range p.earlier() {
		for _, q := range other.queue {
			if slices.Contains(q.groups, group) {
				keys = append(keys, q.key)
			}
		}
	}
	return keys
}

// queues reports whether others have guests to restart or to replace first.
func (p *Party) queues() bool {
	return slices.ContainsFunc(p.earlier(), func(other *Party) bool { return len(other.queue) > 0 })
}

// attending reports whether the party is one of [Engine.Attend].
func (p *Party) attending() bool { return p != nil && p.attends != nil }

// partyOf returns the party with whose guests others are counted; nil: there are no others.
func (m *standing) partyOf() *Party {
	if m == nil {
		return nil
	}
	return m.party
}

// Together is the part of one of several Proxmox clusters in a common plan.
type Together struct {
	Engine *Engine
	Name   string // for people
	Want   model.Desired
}

// PlanTogether plans for several Proxmox clusters together, with what was read since a time.
// Rollout limits count the guests of all, so that each plan says which guests of the others are
// restarted or replaced first. Errors have the index of their cluster.
func PlanTogether(ctx context.Context, all []Together, since time.Time) (plans []plan.Plan, at int, err error) {
	budget, parties := NewBudget(nil), make([]*Party, len(all))
	for i, one := range all {
		want := one.Want
		want.VMs = slices.Clone(want.VMs)
		for n := range want.VMs {
			want.VMs[n].WaitAddress = false // plans don't ask guest agents
		}
		parties[i] = one.Engine.Attend(budget, one.Name, want)
		defer one.Engine.leave(parties[i])
	}
	plans = make([]plan.Plan, len(all))
	for i, one := range all {
		if plans[i], err = one.Engine.planSince(ctx, one.Want, whole(since), parties[i].attends.standing); err != nil {
			return plans, i, err
		}
		parties[i].Queue(plans[i])
	}
	return plans, 0, nil
}

// leave ends the attendance that [Engine.Attend] has begun.
func (e *Engine) leave(p *Party) {
	p.Leave()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.memory.all, p.attends.standing)
}
