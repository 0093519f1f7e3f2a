package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

type (
	// Outcome is the result for an object.
	Outcome = model.Outcome
	// State is the state of an object.
	State = model.State
)

// The states of objects after a run.
const (
	StateReady    = model.StateReady
	StateGone     = model.StateGone
	StateChanging = model.StateChanging
	StateWaiting  = model.StateWaiting
	StateRefused  = model.StateRefused
	StateFailed   = model.StateFailed
)

// Report has the outcomes of all objects.
type Report struct {
	Objects []Outcome
	Took    time.Duration
}

// Converged reports whether everything is up to date.
func (r Report) Converged() bool {
	for _, o := range r.Objects {
		if o.State != StateReady && o.State != StateGone {
			return false
		}
	}
	return true
}

// Late reports whether a step became necessary that wasn't agreed to.
func (r Report) Late() bool {
	return slices.ContainsFunc(r.Objects, func(o Outcome) bool {
		return slices.ContainsFunc(o.Refused, func(f plan.Refusal) bool { return f.Late })
	})
}

// outcome returns the outcome of an object as of now.
func (r *run) outcome(o *object) Outcome {
	p := o.plan
	out := Outcome{Owner: o.owner, Version: o.version, VMID: p.VMID, Node: p.Node, Wait: p.Wait, Refused: p.Refused, Notes: p.Notes, Templates: p.Templates, Awaits: p.Awaits, Since: o.wait.since, State: StateWaiting}
	r.e.observer.View(func(have *model.Observed) {
		if g := have.Guests[p.VMID]; g != nil {
			out.Node, out.Addresses, out.Status, out.Leased = g.Node, g.Addresses, g.Status, g.Leased()
		}
	})
	if len(p.Addresses) > 0 {
		out.Leased = p.Addresses
	}
	if p.VMID != 0 {
		out.Verified = r.e.observer.Verified(p.VMID)
	}
	if o.phase == done && r.live == nil {
		recallSight(&out, o.found)
	}
	fail, failed := r.failure(o)
	if failed {
		out.Failure = &fail
	}
	switch {
	case o.phase == done && p.Gone:
		out.State, out.Reason = StateGone, model.ReasonGone
	case o.phase == done:
		out.State, out.Reason, out.Wait = StateReady, model.ReasonUpToDate, nil
	case !r.able():
		out.Wait, out.Since = r.live.trouble.wait(), r.live.trouble.since
		out.Text, out.Do = out.Wait.Text, out.Wait.Do
	case o.phase == unread && o.away:
		out.Wait = &plan.Wait{Reason: model.WaitReread, Text: "Proxmox answers again, and the machine hasn't been read since"}
		out.Text = out.Wait.Text
	case len(o.doing()) > 0:
		out.State, out.Reason, out.Task = StateChanging, model.ReasonChanging, o.task
		out.Text, out.Repeats = names(o.doing()), failed && repeats(o.doing(), fail.What)
	case p.Wait != nil && (p.Wait.Reason == model.WaitUnseen || p.Wait.Reason == model.WaitForeign):
		// Whatever has failed before: the guest isn't known to be the object's any more.
		out.Text, out.Do = p.Wait.Text, p.Wait.Do
	case failed && fail.Hard:
		out.State, out.Reason, out.Text = StateFailed, model.WaitFailed, failureText(fail)
	case p.Wait != nil:
		out.Text, out.Do = p.Wait.Text, p.Wait.Do
	case len(p.Refused) > 0 && len(p.Steps) == 0:
		w := refused(p.Refused[0])
		out.State, out.Reason, out.Text, out.Diff, out.Do = StateRefused, w.Reason, w.Text, w.Diff, w.Do
	case failed:
		out.Reason, out.Text = model.WaitFailed, failureText(fail)
	case o.wait.reason == model.WaitAgent:
		out.Wait = &plan.Wait{Reason: o.wait.reason, Text: fmt.Sprintf("VM %d runs, and its guest agent hasn't reported an address yet", p.VMID)}
		out.Text = out.Wait.Text
	default:
		out.Reason, out.Text = model.ReasonUnread, "not done yet"
	}
	if out.Reason == "" {
		out.Reason = out.Wait.Reason
	}
	return out
}

// names returns the names of some steps, in one line.
func names(steps []plan.Step) string {
	list := make([]string, len(steps))
	for i, s := range steps {
		list[i] = s.What
	}
	return strings.Join(list, ", ")
}

// repeats reports whether a step of that name is among some.
func repeats(steps []plan.Step, what string) bool {
	return slices.ContainsFunc(steps, func(s plan.Step) bool { return s.What == what })
}

// sight is a guest's status and addresses at some time.
type sight struct {
	status    model.Status
	addresses []netip.Prefix
}

// sight returns the present status and addresses of an object's guest.
func (r *run) sight(o *object) (s sight) {
	r.e.observer.View(func(have *model.Observed) {
		if g := have.Guests[o.plan.VMID]; g != nil {
			s = sight{g.Status, g.Addresses}
		}
	})
	return s
}

// recallSight fills in the status and addresses that a guest had when it became ready, where later
// lists, which may be stale, have put them in doubt.
func recallSight(out *Outcome, s sight) {
	if out.Status == model.StatusUnknown {
		out.Status = s.status
	}
	if out.Status == s.status && len(out.Addresses) == 0 {
		out.Addresses = s.addresses
	}
}

// lookBack reads the status of guests whose objects aren't ready in the end, where a failure has
// put it in doubt.
func (r *run) lookBack() {
	var doubtful []int
	for _, o := range r.order {
		if o.phase.pending() && r.sight(o).status == model.StatusUnknown {
			doubtful = append(doubtful, o.plan.VMID)
		}
	}
	_ = r.e.read(r.ctx, plan.Look{Status: doubtful}) // who can't be seen stays unknown
}

func failureText(f model.Failure) string { return f.What + " failed: " + f.Text }

// refused returns the wait for a person's consent to a step.
func refused(r plan.Refusal) *plan.Wait {
	w := &plan.Wait{Reason: model.WaitRefused, Text: r.What + " isn't done", Do: model.Advice{Do: r.Allow}}
	if r.Late {
		w.Text += ", since it wasn't in the plan that was agreed to"
	}
	if r.Why != "" {
		w.Text += ": " + r.Why
	} else {
		w.Diff = r.Diff
	}
	return w
}
