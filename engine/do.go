package engine

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// start begins steps side by side, unless another object works on one of their guests, or
// Options.Parallel objects are worked on already.
func (r *run) start(o *object, steps []plan.Step) {
	if r.ctx.Err() != nil {
		return
	}
	if vmid := r.taken(o, steps); vmid != 0 {
		r.blocked[vmid] = append(r.blocked[vmid], o)
		return
	}
	// What is to go doesn't wait for what is to come.
	if r.opts.Parallel > 0 && r.active >= r.opts.Parallel && !o.part.want.Going(o.owner.Key) {
		r.enqueue(o)
		return
	}
	r.active++
	r.proceed(o, steps)
}

// taken returns a guest of some steps that another object works on; 0: there is none.
func (r *run) taken(o *object, steps []plan.Step) int {
	for _, s := range steps {
		vmid := s.Action.Guest()
		if other := r.guests[vmid]; vmid != 0 && other != nil && other != o {
			return vmid
		}
	}
	return 0
}

// proceed begins steps of an object that counts among those that are worked on.
func (r *run) proceed(o *object, steps []plan.Step) {
	o.wait.reason, o.looks = "", 0
	for _, s := range steps {
		if vmid := s.Action.Guest(); vmid != 0 {
			r.guests[vmid] = o
		}
		r.do(o, s)
	}
}

// enqueue queues an object until another one is done: objects that were begun come first, then
// the order of the plan counts.
func (r *run) enqueue(o *object) {
	at, _ := slices.BinarySearchFunc(r.queue, o, func(a, b *object) int {
		if a.underWay() != b.underWay() {
			if a.underWay() {
				return -1
			}
			return 1
		}
		return a.n - b.n
	})
	r.queue = slices.Insert(r.queue, at, o)
}

// do makes the call of one step.
func (r *run) do(o *object, s plan.Step) {
	o.steps++
	o.part.calls++
	o.begun[s.N] = true
	r.rolls(o, s)
	at := o.plan
	var known act.Known
	r.e.observer.View(func(have *model.Observed) { known = act.Know(s.Action, have) })
	r.emit(o, stepEvent(Started, s))
	known.Progress = r.passing(o, s)
	r.call(func() func() {
		var res act.Result
		err := r.claim(o, s.Action, at)
		if err == nil {
			res, err = r.e.actor.Do(r.calls, s.Action, known)
		}
		return func() {
			r.called(o.part)
			switch {
			case err != nil:
				r.failed(o, s, err)
				r.stepEnded(o)
			case res.Task != "":
				r.follow(o, s, res.Task)
			default:
				r.succeeded(o, s, "")
				o.onward = o.onward.after(isConfigure(s.Action))
				r.stepEnded(o)
			}
		}
	})
}

// follow waits for the end of a step's task.
func (r *run) follow(o *object, s plan.Step, task string) {
	r.e.observer.TaskStarted(task)
	if model.FactsOf(s.Action).Makes {
		r.e.mu.Lock()
		r.e.memory.begin(s.Action.Guest())
		r.e.mu.Unlock()
		r.nextTurn()
	}
	o.task = task
	r.emit(o, Event{Kind: Progress, Action: kindOf(s.Action), Step: s.What, Task: task})
	r.tell(o)
	stop, begun := r.watchProgress(o, s, task), time.Now()
	r.e.observer.Following(task, s.Action, o.owner)
	r.call(func() func() {
		warnings, err := r.tasks.Follow(task)
		stop()
		done := err
		if err == nil {
			done = r.e.observer.Check(r.ctx, s.Action)
		}
		return func() {
			if !r.taskEnded(task, err) {
				r.e.mu.Lock()
				r.e.memory.leave(o.owner, s.Action, task)
				r.e.mu.Unlock()
			}
			r.e.observer.Followed(task, warnings, err, r.ctx.Err() != nil)
			if done != nil {
				r.failed(o, s, done)
			} else {
				r.succeeded(o, s, task)
			}
			// The success of a task is evidence about a config just as the answer to a short call is, and the config was ours when the
			// task began.
			o.onward = o.onward.after(done == nil && len(warnings) == 0 && isConfigure(s.Action) && time.Since(begun) < proofAge)
			r.stepEnded(o)
		}
	})
}

// taskEnded records the end of a task, and reports whether it has ended: if we only stopped following it, it
// continues, and the next run has to wait for it.
func (r *run) taskEnded(task string, err error) bool {
	ended := err == nil || r.ctx.Err() == nil
	if ended {
		r.e.observer.TaskEnded(task)
	}
	return ended
}

// stepEnded continues with the object when all steps that it had started have ended.
func (r *run) stepEnded(o *object) {
	if o.steps--; o.steps > 0 {
		return
	}
	delete(r.leaving, o)
	// A change of the config that Proxmox has confirmed is done, and what follows
	// it in the same plan was planned for just that: no need to look in between.
	if next := o.following(); o.onward == carryOn && len(next) > 0 && r.ctx.Err() == nil && r.taken(o, next) == 0 {
		o.onward = lookFirst
		r.proceed(o, next)
		r.tell(o)
		return
	}
	r.letGo(o)
	r.due[o] = true
	r.nextTurn()
}

// nextTurn plans the objects that wait for another one to take a VMID.
func (r *run) nextTurn() {
	for o := range r.waiting {
		if o.wait.reason == model.WaitTurn {
			r.due[o] = true
		}
	}
}

// letGo releases the object's guests and its place, so that other objects can work.
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
	r.active--
}

// admit plans as many queued objects as there are free places. Not every one takes its place:
// what is wanted of it may have changed.
func (r *run) admit() {
	for free := r.opts.Parallel - r.active; free > 0 && len(r.queue) > 0; free-- {
		r.due[r.queue[0]] = true
		r.queue = r.queue[1:]
	}
}

// kindOf returns the name of an action's kind.
func kindOf(a model.Action) string { return reflect.TypeOf(a).Name() }

func isConfigure(a model.Action) bool {
	_, ok := a.(model.Configure)
	return ok
}

// maxAgain bounds how often the same step is done again for the same reason.
const maxAgain = 5

// clearsHA reports whether an action clears the HA manager's error, so that it tries once more: it has
// made several attempts when it gives up.
func clearsHA(a model.Action) bool {
	h, ok := a.(model.SetHA)
	return ok && h.Disable
}

// succeeded records that a step was done.
func (r *run) succeeded(o *object, s plan.Step, task string) {
	o.did[s.N] = true
	r.e.succeed(o.part.standing, o.owner.Key, s.What)
	r.e.heard(o.part.standing, o.owner.Key, s.Action)
	switch n := o.repeated(s); {
	case n > 1 && clearsHA(s.Action):
		r.noteFailure(o, s.What, act.Failure{Class: act.Hard, Text: "the HA manager has given up on it again; the log of the last qmstart task of the VM says why it doesn't start"})
	case n > maxAgain:
		r.noteFailure(o, s.What, act.Failure{Class: act.Hard, Text: fmt.Sprintf("Proxmox says each time that it is done, and nothing has changed (%s)", s.Reason())})
	}
	r.e.observer.Done(s.Action, r.vm(o).WaitAddress)
	o.task = ""
	_, o.released = s.Action.(model.Release)
	done := stepEvent(Done, s)
	done.Task = task
	r.emit(o, done)
	r.doubtMachine(o)
	if _, destroyed := s.Action.(model.Destroy); destroyed {
		r.outlived(o.part)
	}
}

// doubtMachine plans the machine of a snapshot again: what was done for the snapshot may leave something to do for the machine. A
// rollback that fails may have stopped it, and have changed its config.
func (r *run) doubtMachine(o *object) {
	snap, ok := o.part.want.Snapshot(o.owner.Key)
	if !ok {
		return
	}
	if vm := o.part.objects[snap.VM]; vm != nil {
		vm.phase = vm.phase.doubted()
		r.due[vm] = true
	}
}

// outlived plans the images of a part again that have templates of earlier generations: the guest that was destroyed may
// have been the last linked clone of one.
func (r *run) outlived(of *part) {
	for _, i := range of.want.All().Images {
		if o := of.objects[i.Object().Key]; o != nil && o.phase == done && len(o.plan.Earlier) > 0 {
			o.phase = o.phase.doubted()
			r.due[o] = true
		}
	}
}
