package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
)

// What a task leaves is removed by whoever follows it. If that process is killed, the
// next one finds the task among those that the lists show anyway; only where a node has
// had more of them than the lists show, it is asked once for the older ones.

const (
	// recallAge is how old a task may be whose log is read. Whoever finds what is older
	// than a day may have plans for it.
	recallAge = 24 * time.Hour
	// recallPause is how long the end of a task is left to the one that follows it.
	recallPause = time.Minute
	// recallSpread keeps processes that have begun at different times from removing the
	// same at the same time.
	recallSpread = 20 * time.Second
	// recallPatience is how long it is tried at once, and recallTries how often.
	recallPatience = 30 * time.Second
	recallTries    = 3
	// recallMost bounds how many tasks a process looks at.
	recallMost = 50
)

// recall removes what tasks of ours have left that nobody follows any more.
func (r *run) recall() {
	for _, t := range r.e.observer.Unclean() {
		r.takeUp(t)
	}
	if !r.e.elder() {
		return
	}
	var nodes []string
	r.e.observer.View(func(have *model.Observed) {
		for name, n := range have.Nodes {
			if n.Online {
				nodes = append(nodes, name)
			}
		}
	})
	slices.Sort(nodes)
	for _, node := range nodes {
		r.flyRecall(func() func() {
			tasks, _ := r.e.observer.UncleanBefore(r.ctx, node, recallAge) // or another process gets them
			return func() {
				for _, t := range tasks {
					r.takeUp(t)
				}
			}
		})
	}
}

// flyRecall makes a call that others wait for, but not for ever, see waitForRecall.
func (r *run) flyRecall(call func() (then func())) {
	r.recalling++
	r.fly(func() func() {
		then := call()
		return func() {
			r.recalling--
			then()
		}
	})
}

// waitForRecall tells whether a run that has nothing else to do goes on for what is to be
// removed, and until when at most. What isn't removed by then is left to the next process.
func (r *run) waitForRecall(now time.Time) (until time.Time, wait bool) {
	if r.recalling == 0 || r.flying > r.idle+r.recalling {
		r.onlyRecall = time.Time{}
		return time.Time{}, false
	}
	if r.onlyRecall.IsZero() {
		r.onlyRecall = now
	}
	until = r.onlyRecall.Add(recallPause + recallSpread + recallPatience)
	return until, now.Before(until)
}

// takeUp finds out what a task has left, unless somebody else of us does.
func (r *run) takeUp(t model.Task) {
	if time.Since(t.Ended) > recallAge || !r.e.own(t.UPID) {
		return
	}
	r.flyRecall(func() func() {
		left, err := r.e.actor.Recall(r.ctx, t)
		var there []string
		if err == nil && left != nil {
			there, err = r.e.actor.There(r.ctx, *left)
		}
		return func() {
			at := r.recallTime(t)
			switch {
			case err != nil || len(there) == 0:
				r.e.leave(t.UPID, err == nil)
			case r.live == nil && at.After(time.Now()):
				r.e.putOff(t.UPID, at) // nobody waits for that: the next process removes it
			default:
				r.clearAt(at, t, left)
			}
		}
	})
}

// recallTime is when whoever has begun a task must have removed what it left. The clocks
// of nodes may be wrong, so that it isn't later than if the task had ended right now.
func (r *run) recallTime(t model.Task) time.Time {
	ended, now := t.Ended, time.Now()
	if ended.After(now) {
		ended = now
	}
	return ended.Add(recallPause + time.Duration(r.begun.UnixNano())%recallSpread)
}

// clearAt removes what a task has left at a time.
func (r *run) clearAt(at time.Time, t model.Task, left *act.Left) {
	r.flyRecall(func() func() {
		select {
		case <-time.After(time.Until(at)):
		case <-r.ctx.Done():
		}
		return func() { r.clear(t, left) }
	})
}

// clear removes what a task has left. Nobody of us works on a guest with that VMID
// meanwhile.
func (r *run) clear(t model.Task, left *act.Left) {
	switch {
	case r.ctx.Err() != nil:
		r.e.leave(t.UPID, false)
		return
	case r.guests[left.VMID] != nil:
		r.clearAt(time.Now().Add(lastList), t, left)
		return
	}
	o := &object{owner: model.Owner{Key: model.Key{Kind: "Guest", Name: strconv.Itoa(left.VMID)}}}
	o.plan.VMID, o.plan.Node = left.VMID, left.Node
	r.guests[left.VMID] = o
	r.flyRecall(func() func() {
		removed, err := r.sweep(left, recallPatience)
		return func() {
			r.letGo(o)
			if again := r.e.leave(t.UPID, err == nil); again && r.ctx.Err() == nil {
				err = nil // nothing to tell yet
			}
			r.swept(o, "remove what Proxmox has left of it", left, removed, err)
		}
	})
}

// care is who looks after what a task leaves.
type care struct {
	since time.Time
	now   bool // somebody does
	tries int  // how often it was recalled
	over  bool // nothing more is to be done

	early time.Time // until then it is left to the process that has begun it
}

// own tells whether what a task leaves is still to be looked after, and nobody else
// of this process does; from then on somebody does.
func (m *memory) own(task string, now time.Time) bool {
	recalled := 0
	for t, c := range m.cares {
		if !c.now && now.Sub(c.since) > recallAge {
			delete(m.cares, t)
		} else if c.tries > 0 {
			recalled++
		}
	}
	c, known := m.cares[task]
	if c.now || c.over || now.Before(c.early) || c.tries >= recallTries || !known && recalled >= recallMost {
		return false
	}
	m.cares[task] = care{since: now, now: true, tries: c.tries + 1}
	return true
}

// leave notes that nobody looks after what a task leaves any more, and tells whether
// somebody may try again.
func (m *memory) leave(task string, over bool) (again bool) {
	c := m.cares[task]
	c.now, c.over = false, over
	m.cares[task] = c
	return !over && c.tries < recallTries
}

// putOff notes that what a task has left isn't to be looked at before a time.
func (e *Engine) putOff(task string, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.memory.cares[task]
	c.now, c.tries, c.early = false, c.tries-1, until
	e.memory.cares[task] = c
}

func (e *Engine) own(task string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.memory.own(task, time.Now())
}

func (e *Engine) leave(task string, over bool) (again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.memory.leave(task, over)
}

// follows notes that a task is followed by the one who has begun it.
func (e *Engine) follows(task string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memory.cares[task] = care{since: time.Now(), now: true}
}

// followed notes the end of that. What it has left may have to be recalled if it
// couldn't be removed, or if we were stopped before.
func (e *Engine) followed(task string, clean, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if clean {
		delete(e.memory.cares, task)
		return
	}
	e.memory.leave(task, over)
}

// elder tells, once, that the nodes are to be asked for tasks that are too old for the
// lists.
func (e *Engine) elder() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.memory.elder
	e.memory.elder = true
	return first
}
