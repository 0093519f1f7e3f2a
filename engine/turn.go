package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// turn plans all objects that are due, together, and carries out each plan as far as possible now.
func (r *run) turn() {
	var due []*object
	for o := range r.due {
		if !o.busy() && o.phase.pending() {
			due = append(due, o)
		}
	}
	clear(r.due)
	slices.SortFunc(due, func(a, b *object) int { return a.n - b.n })
	if due = r.later(due); len(due) == 0 {
		return
	}
	for _, o := range due {
		if fail, failed := r.failure(o); failed && r.outdated(fail) {
			r.retryAll(o)
		}
		if o.wait.reason == model.WaitPlace {
			r.reconsider(o.part)
		}
	}
	planned := r.planOnly(due)
	for _, o := range due {
		p, ok := planned[o]
		if !ok {
			p = plan.Object{Owner: o.owner, Gone: o.passing()} // it was there to be looked at, and has been; or nobody needs it any more
		}
		if p.VMID == 0 && !p.Look.Empty() {
			p.VMID, p.Node = o.plan.VMID, o.plan.Node // for those who want to know meanwhile
		}
		if agreed := o.part.opts.Agreed; agreed != nil {
			p = agreed.Limit(p)
		}
		o.planned(p)
		delete(r.waiting, o)
	}
	for _, o := range r.grant(due) {
		r.dispatch(o)
		r.tell(o)
	}
}

// planOnly plans some objects, those of each part separately.
func (r *run) planOnly(due []*object) map[*object]plan.Object {
	of := map[*part][]*object{}
	for _, o := range due {
		of[o.part] = append(of[o.part], o)
	}
	all := make(map[*object]plan.Object, len(due))
	for _, part := range r.parts {
		if due := of[part]; len(due) > 0 {
			planned := r.planPart(part, due)
			for _, o := range due {
				if p, ok := planned[o.owner.Key]; ok {
					all[o] = p
				}
			}
		}
	}
	return all
}

// planPart plans some objects of a part, together with those that their plans depend on.
func (r *run) planPart(part *part, due []*object) map[model.Key]plan.Object {
	e := r.e
	e.mu.Lock()
	defer e.mu.Unlock()
	was, at := make([]model.Placement, len(due)), make([]int, len(due))
	for i, o := range due {
		was[i], at[i] = e.memory.displace(o.owner)
	}
	out := map[model.Key]plan.Object{}
	want := part.want.For(keysOf(due)...)
	planned := e.planLocked(want, part.standing)
	if all, more := part.want.Rolled(want, planned); more {
		planned = e.planLocked(all, part.standing)
	}
	for _, p := range planned.Objects {
		out[p.Owner.Key] = p
		if o := part.objects[p.Owner.Key]; o != nil && o.phase == done && p.On != "" && !p.Ready() {
			o.phase = o.phase.doubted() // it is needed again
			r.due[o] = true
		}
		if part.objects[p.Owner.Key] == nil && (p.VMID != 0 || p.On != "") {
			r.add(part, p) // found while looking for what is left over, or needed by another
		}
	}
	for i, o := range due {
		e.memory.replace(out[o.owner.Key], was[i], at[i])
		e.memory.keep(out[o.owner.Key])
		part.standing.bind(o.owner.Key, out[o.owner.Key])
	}
	return out
}

func keysOf(objects []*object) []model.Key {
	keys := make([]model.Key, len(objects))
	for i, o := range objects {
		keys[i] = o.owner.Key
	}
	return keys
}

// vm returns what is wanted of an object's guest.
func (r *run) vm(o *object) model.VM {
	v, _ := o.part.want.VM(o.owner.Key)
	return v
}

// dispatch starts what an object's new plan says: reading, steps, a wait, or the end.
func (r *run) dispatch(o *object) {
	p := o.plan
	look := p.Look
	agents := look.Agents
	look.Agents = nil
	steps := p.Next()
	look.Status = append(look.Status, r.e.unsure(steps)...)
	look.Configs = append(look.Configs, r.e.unproved(steps)...)
	fail, failed := r.failure(o)
	paused := failed && (fail.Hard || time.Now().Before(fail.Next))
	switch {
	case failed && !fail.Unread && len(look.IDs) > 0:
		// It may have failed since the VMID is taken by a guest that isn't visible.
		r.look(o, plan.Look{IDs: look.IDs})
	case paused && len(r.touched(fail, look.Configs)) > 0:
		// It may be somebody else's by now, or what failed has nothing left to do.
		r.look(o, plan.Look{Configs: r.touched(fail, look.Configs)})
	case paused && (!look.Empty() || len(steps) > 0):
		// Plans wait after failures by themselves, but not before they look.
		r.wait(o, &plan.Wait{Reason: model.WaitFailed, Text: failureText(fail)})
	case !look.Empty():
		r.look(o, look)
	case len(steps) > 0:
		r.announce(o)
		r.start(o, steps)
		if tidies(steps) {
			r.wakeUsers(o) // what they need of it is there
		}
	case len(agents) > 0 || p.Wait != nil && p.Wait.Reason == model.WaitAgent:
		r.ask(o, p.VMID)
		if p.Wait != nil && p.Wait.Reason.Facts().Listed {
			r.listBy(time.Now().Add(r.listPause)) // what is to be done then doesn't need the agent
		}
	case p.Wait != nil:
		r.wait(o, p.Wait)
		if p.Wait.Reason == model.WaitFailed {
			r.wakeUsers(o) // they may do without it
		}
	case len(p.Refused) > 0:
		r.wait(o, refused(p.Refused[0]))
		r.wakeUsers(o) // it won't get any further
	default:
		r.finish(o)
	}
}

// tidies reports whether steps only remove files that aren't needed any more.
func tidies(steps []plan.Step) bool {
	return !slices.ContainsFunc(steps, func(s plan.Step) bool {
		_, ok := s.Action.(model.RemoveFile)
		return !ok
	})
}

// unsure returns the guests that steps start or stop by what the list alone shows. It may be stale, so
// their status is read first.
func (e *Engine) unsure(steps []plan.Step) []int {
	var list []int
	for _, s := range steps {
		if vmid := s.Action.Guest(); model.FactsOf(s.Action).AsSeen && !e.observer.Sure(vmid) {
			list = append(list, vmid)
		}
	}
	return list
}

// proofAge is how old the proof may be that a guest is ours, when it is to be
// changed by a call that can't be made to depend on it.
const proofAge = 5 * time.Second

// unproved returns the guests whose configs must be read again before these steps:
// they may have become somebody else's meanwhile.
func (e *Engine) unproved(steps []plan.Step) []int {
	var list []int
	for _, s := range steps {
		vmid := s.Action.Guest()
		if model.FactsOf(s.Action).Proof == model.ProofFresh && vmid != 0 && !e.observer.Proved(vmid, proofAge) {
			list = append(list, vmid)
		}
	}
	return list
}

// announce emits an event, once, that there is something to do.
func (r *run) announce(o *object) {
	if o.phase == announced {
		return
	}
	text := fmt.Sprintf("%d steps", len(o.plan.Steps))
	if len(o.plan.Steps) == 1 {
		text = "1 step"
	}
	if o.plan.Placed != "" {
		text += "; on " + o.plan.Node + ": " + o.plan.Placed
	}
	r.emit(o, Event{Kind: Planned, Text: text})
	o.phase = announced
}

// finish marks an object as up to date.
func (r *run) finish(o *object) {
	first := o.phase != recheck
	o.phase, o.wait.reason, o.looks = done, "", 0
	o.found = r.sight(o)
	r.rolled(o)
	r.e.mu.Lock()
	r.e.memory.settled[o.owner] = time.Now()
	delete(r.e.memory.kept, o.owner)
	delete(r.e.memory.begun, o.owner)
	r.e.mu.Unlock()
	end := Event{Kind: Ready, Reason: model.ReasonUpToDate}
	switch {
	case o.plan.Gone && o.released:
		end.Text = "released"
	case o.plan.Gone:
		end.Reason, end.Text = model.ReasonGone, "gone"
	}
	if first {
		r.emit(o, end)
	}
	// What may have to be done again some day is none of this; and there may be
	// thousands that rest like this one.
	o.again, o.begun, o.did = nil, nil, nil
	r.wakeUsers(o)
}

// wakeUsers plans the objects again that depend on o: those that are made from it and, when it is gone,
// those that it was made from, which may be removed now.
func (r *run) wakeUsers(o *object) {
	waiting := o.part.want.Users(o.owner.Key)
	if o.plan.Gone {
		waiting = append(slices.Clone(waiting), o.part.want.Sources(o.owner.Key)...)
	}
	for _, key := range waiting {
		if u := o.part.objects[key]; u != nil && u.phase.pending() && u.phase != unread {
			r.due[u] = true
		}
	}
}
