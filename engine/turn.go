package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// turn plans all that is due, together, and does what can be done for each.
func (r *run) turn() {
	var due []*object
	for o := range r.due {
		if o.busy == 0 && !o.done {
			due = append(due, o)
		}
	}
	clear(r.due)
	if len(due) == 0 {
		return
	}
	slices.SortFunc(due, func(a, b *object) int { return a.n - b.n })
	planned := r.planOnly(due)
	for _, o := range due {
		p, ok := planned[o.owner.Key]
		if !ok {
			p = plan.Object{Owner: o.owner} // it was there to be looked at, and has been
		}
		o.plan, o.did, o.carry, o.retry = p, map[int]bool{}, false, time.Time{}
		delete(r.waiting, o)
		r.dispatch(o)
	}
}

// planOnly plans some objects, without the others as far as they don't matter.
func (r *run) planOnly(due []*object) map[model.Key]plan.Object {
	e := r.e
	e.mu.Lock()
	defer e.mu.Unlock()
	was, at := make([]model.Placement, len(due)), make([]int, len(due))
	for i, o := range due {
		was[i], at[i] = e.memory.displace(o.owner)
	}
	out := map[model.Key]plan.Object{}
	for _, p := range e.planLocked(r.want.only(due)).Objects {
		out[p.Owner.Key] = p
		if r.objects[p.Owner.Key] == nil && p.VMID != 0 {
			r.add(p.Owner, p.VMID) // found while looking for what is left over
		}
	}
	for i, o := range due {
		e.memory.replace(out[o.owner.Key], r.want.vms[o.owner.Key], was[i], at[i])
	}
	return out
}

// dispatch does what an object's new plan says.
func (r *run) dispatch(o *object) {
	p := o.plan
	look := p.Look
	agents := look.Agents
	look.Agents = nil
	steps := p.Next()
	look.Status = append(look.Status, r.e.unsure(steps)...)
	switch fail, failed := r.failure(o); {
	case failed && (fail.Hard || time.Now().Before(fail.Next)) && (!look.Empty() || len(steps) > 0):
		// Plans wait after failures by themselves, but not before they look.
		r.wait(o, &plan.Wait{Reason: plan.WaitFailed, Text: failureText(fail)})
	case !look.Empty():
		r.look(o, look)
	case len(steps) > 0:
		r.announce(o)
		r.start(o, steps)
	case len(agents) > 0 || p.Wait != nil && p.Wait.Reason == plan.WaitAgent:
		r.ask(o, p.VMID)
	case p.Wait != nil:
		r.wait(o, p.Wait)
	case len(p.Refused) > 0:
		r.wait(o, &plan.Wait{Reason: plan.WaitRefused, Text: refusalText(p.Refused[0])})
	default:
		r.finish(o)
	}
}

// unsure are the guests that are to be started or stopped by what the list says
// alone: it may be late, so they are looked at first.
func (e *Engine) unsure(steps []plan.Step) []int {
	var list []int
	for _, s := range steps {
		switch s.Action.(type) {
		case model.Start, model.Stop, model.Shutdown, model.Reboot:
			if vmid := s.Action.Guest(); !e.observer.Sure(vmid) {
				list = append(list, vmid)
			}
		}
	}
	return list
}

// announce tells once that there is something to do.
func (r *run) announce(o *object) {
	if o.told {
		return
	}
	o.told = true
	text := fmt.Sprintf("%d steps", len(o.plan.Steps))
	if len(o.plan.Steps) == 1 {
		text = "1 step"
	}
	if o.plan.Placed != "" {
		text += "; on " + o.plan.Node + ": " + o.plan.Placed
	}
	r.emit(o, Event{Kind: Planned, Text: text})
}

// start does steps, side by side, unless somebody else is at the same guest or
// enough is being done already.
func (r *run) start(o *object, steps []plan.Step) {
	if r.ctx.Err() != nil {
		return
	}
	for _, s := range steps {
		vmid := s.Action.Guest()
		if other := r.guests[vmid]; vmid != 0 && other != nil && other != o {
			r.blocked[vmid] = append(r.blocked[vmid], o)
			return
		}
	}
	if !o.working {
		if r.opts.Parallel > 0 && r.active >= r.opts.Parallel {
			r.queue = append(r.queue, o)
			return
		}
		o.working = true
		r.active++
	}
	o.reason = ""
	for _, s := range steps {
		if vmid := s.Action.Guest(); vmid != 0 {
			r.guests[vmid] = o
		}
		r.do(o, s)
	}
}

// do makes the call of one step.
func (r *run) do(o *object, s plan.Step) {
	o.busy++
	var on act.Storage
	r.e.observer.View(func(have *model.Observed) { on = act.On(s.Action, have) })
	r.emit(o, Event{Kind: Started, Step: s.What, Text: s.Why})
	r.fly(func() func() {
		res, err := r.e.actor.Do(r.ctx, s.Action, on)
		return func() {
			switch {
			case err != nil:
				r.failed(o, s, err)
				r.stepEnded(o)
			case res.Task != "":
				r.follow(o, s, res.Task)
			default:
				r.succeeded(o, s, "")
				o.carry = isConfigure(s.Action)
				r.stepEnded(o)
			}
		}
	})
}

// follow waits for the end of a step's task.
func (r *run) follow(o *object, s plan.Step, task string) {
	r.e.observer.TaskStarted(task)
	r.emit(o, Event{Kind: Progress, Step: s.What, Task: task})
	stop := r.watchProgress(o, s, task)
	r.fly(func() func() {
		_, err := r.tasks.Follow(task)
		stop()
		if err == nil {
			r.e.verify(r.ctx, s.Action)
		}
		return func() {
			r.e.observer.TaskEnded(task)
			if err != nil {
				r.failed(o, s, err)
			} else {
				r.succeeded(o, s, task)
			}
			o.carry = false
			r.stepEnded(o)
		}
	})
}

// stepEnded goes on with the object when all that it had started has ended.
func (r *run) stepEnded(o *object) {
	if o.busy--; o.busy > 0 {
		return
	}
	// A change of the config that Proxmox has confirmed is done, and what follows
	// it in the same plan was planned for just that: no need to look in between.
	if o.carry {
		if next := o.following(); len(next) > 0 {
			o.carry = false
			r.start(o, next)
			return
		}
	}
	r.letGo(o)
	r.due[o] = true
}

// following are the steps of the present plan that can be done now.
func (o *object) following() []plan.Step {
	var next []plan.Step
	for _, s := range o.plan.Steps {
		ready := !o.did[s.N] && len(s.After) > 0
		for _, n := range s.After {
			ready = ready && o.did[n]
		}
		if ready {
			next = append(next, s)
		}
	}
	return next
}

// letGo lets others have the object's guests and its place.
func (r *run) letGo(o *object) {
	for vmid, by := range r.guests {
		if by == o {
			delete(r.guests, vmid)
			for _, waiting := range r.blocked[vmid] {
				r.due[waiting] = true
			}
			delete(r.blocked, vmid)
		}
	}
	if o.working {
		o.working = false
		r.active--
	}
	if len(r.queue) > 0 && (r.opts.Parallel <= 0 || r.active < r.opts.Parallel) {
		r.due[r.queue[0]] = true
		r.queue = r.queue[1:]
	}
}

func isConfigure(a model.Action) bool {
	_, ok := a.(model.Configure)
	return ok
}

// maxAgain is how often the same step is done again for the same reason.
const maxAgain = 5

// succeeded notes that a step was done.
func (r *run) succeeded(o *object, s plan.Step, task string) {
	o.did[s.N] = true
	o.steps++
	r.e.succeed(o.owner.Key, s.What)
	if o.again[s.What+s.Why]++; o.again[s.What+s.Why] > maxAgain {
		r.blame(o, s.What, act.Failure{Class: act.Hard, Text: fmt.Sprintf("Proxmox says each time that it is done, and nothing has changed (%s)", s.Why)})
	}
	r.e.note(s.Action, r.want.vms[o.owner.Key].WaitAddress)
	r.emit(o, Event{Kind: Done, Step: s.What, Text: s.Why, Task: task})
	// What a snapshot does to its machine may leave something to do for that.
	if snap, ok := r.want.snapshots[o.owner.Key]; ok {
		if vm := r.objects[snap.VM]; vm != nil {
			vm.done = false
			r.due[vm] = true
		}
	}
}

// finish is the end of an object that is as wanted.
func (r *run) finish(o *object) {
	o.done, o.reason = true, ""
	r.e.mu.Lock()
	r.e.memory.settled[o.owner] = time.Now()
	r.e.mu.Unlock()
	text := ""
	if o.plan.Gone {
		text = "gone"
	}
	r.emit(o, Event{Kind: Ready, Text: text})
	r.wakeUsers(o)
}

// wakeUsers plans again what waits for this object: what is made from it, and,
// when it is gone, what it was made from, which may go now.
func (r *run) wakeUsers(o *object) {
	waiting := r.want.users[o.owner.Key]
	if o.plan.Gone {
		waiting = append(slices.Clone(waiting), r.want.sources(o.owner.Key)...)
	}
	for _, key := range waiting {
		if u := r.objects[key]; u != nil && !u.done {
			r.due[u] = true
		}
	}
}
