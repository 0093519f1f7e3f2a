package engine

import (
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// object is one wanted object in a run, with its present plan and progress.
type object struct {
	n       int // place in the order
	part    *part
	owner   model.Owner
	version int64 // of what is wanted
	phase   phase

	// The present plan, and how far it is carried out.
	plan   plan.Object
	begun  map[int]bool // steps that were begun
	did    map[int]bool // steps that have succeeded
	onward onward
	task   string // the last one that was started

	// What is in flight for it. A plan either reads or does steps.
	reads      int          // answers that its plan waits for
	unanswered []unanswered // what couldn't be read for it
	steps      int          // calls and tasks of its steps
	asking     bool         // its guest agent is being asked, which nobody has to wait for

	wait     waiting
	looks    int            // how often it was looked at since something was done
	reopened int            // how often it had others looked at again
	again    map[string]int // how often each step was done
	released bool           // the last step that was done has released its guest
	found    sight          // how its guest was when it became ready

	// What was reported of it last.
	last     view
	lastAt   time.Time
	verified time.Time // when it was verified, by that report
	away     bool      // Proxmox was away
}

// phase is how far an object is from being up to date. An object is in one phase at a time:
//
//	fresh ─► unread
//	  │        │
//	  ▼        ▼
//	  open ◄───── recheck ◄─┐
//	  │  │           │      │
//	  │  ▼           ▼      │
//	  │ announced ─► done ──┘
//	  └───────────────┘
//
// Each of them may become dropped, which is the end.
type phase int

const (
	fresh     phase = iota // it was never planned
	unread                 // it was never planned, and is later: the lists show nothing to do for it
	open                   // it isn't up to date, as far as is known
	announced              // it isn't up to date, and an event has said what is to be done
	done                   // it is up to date, and an event has said so
	recheck                // it was up to date and is compared again; no event since
	dropped                // nobody wants it any more
)

// pending reports whether an object in this phase is still to be brought up to date.
func (p phase) pending() bool { return p != done && p != dropped }

// opened returns the next phase of an object that is planned for the first time.
func (p phase) opened() phase {
	if p == fresh || p == unread {
		return open
	}
	return p
}

// doubted returns the next phase of an object that may have drifted.
func (p phase) doubted() phase {
	if p == done {
		return recheck
	}
	return p
}

// renewed returns the next phase of an object whose wanted state has changed.
func (p phase) renewed() phase {
	if p == fresh || p == unread {
		return p
	}
	return open
}

// reported returns the next phase after an event other than Ready.
func (p phase) reported() phase {
	if p == recheck {
		return open
	}
	return p
}

// onward says how the present plan goes on when the steps that were begun have ended.
type onward int

const (
	lookFirst onward = iota // what became of them is looked at, and planned
	carryOn                 // Proxmox has confirmed the last one, so those that follow it are done
	outdated                // something else is wanted since the plan was made
)

// after returns how a plan goes on after one more of its steps; confirmed: Proxmox' answer proves the result.
func (w onward) after(confirmed bool) onward {
	switch {
	case w == outdated:
		return outdated
	case confirmed:
		return carryOn
	}
	return lookFirst
}

// waiting is what an object waits for, and since when.
type waiting struct {
	reason model.Reason // "": for nothing
	said   string       // in which words an event has said so; "": not yet
	since  time.Time
	retry  time.Time // when it is planned again
}

// busy reports whether something is in flight that the object has to wait for.
func (o *object) busy() bool { return o.reads > 0 || o.steps > 0 }

// passing reports whether it is an object that plans come up with and may drop again: disks
// that were left, or a template that an image needs on a node.
func (o *object) passing() bool {
	_, _, copied := o.owner.CopyOf()
	return copied || o.owner.Key == model.Leftovers
}

// planned takes over a new plan, of which nothing is begun.
func (o *object) planned(p plan.Object) {
	o.plan, o.begun, o.did, o.onward, o.wait.retry = p, map[int]bool{}, map[int]bool{}, lookFirst, time.Time{}
}

// underWay reports whether a step was done for the object.
func (o *object) underWay() bool { return len(o.again) > 0 }

// following returns the steps of the present plan that can be done now.
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

// doing returns the steps that are under way for an object.
func (o *object) doing() (steps []plan.Step) {
	for _, s := range o.plan.Steps {
		if o.begun[s.N] && !o.did[s.N] {
			steps = append(steps, s)
		}
	}
	return steps
}

// repeated counts a step, and returns how often it was done for the same reason.
func (o *object) repeated(s plan.Step) int {
	if o.again == nil {
		o.again = map[string]int{}
	}
	same := s.What + s.Reason()
	o.again[same]++
	return o.again[same]
}
