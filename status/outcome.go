package status

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/plan"
)

// State is how an object is, in one word.
type State string

// States of an object.
const (
	Ready    State = "Ready"    // up to date
	Gone     State = "Gone"     // it was to go, and is gone
	Changing State = "Changing" // steps are to be done
	Waiting  State = "Waiting"  // goes on by itself
	Blocked  State = "Blocked"  // goes on when a person has decided
	Failed   State = "Failed"   // a step failed
	Unread   State = "Unread"   // not all that matters was read yet
)

// Outcome is how an object is, with the reason and a sentence.
type Outcome struct {
	State   State
	Reason  string // one word, for machines
	Message string // one sentence, for people
}

// Reasons that aren't those of a plan's wait.
const (
	ReasonUpToDate = "UpToDate"
	ReasonGone     = "Gone"
	ReasonChanging = "Changing"
	ReasonUnread   = "Unread"
)

// Of says how the object is that a plan is for.
func Of(o plan.Object) Outcome {
	switch {
	case o.Gone:
		return Outcome{Gone, ReasonGone, "nothing of it is left"}
	case o.Wait != nil:
		return waiting(*o.Wait)
	case !o.Ready() && o.Unchanged():
		return Outcome{Waiting, plan.WaitAgent, "its guest agent hasn't reported an address yet"}
	case !o.Look.Empty():
		return Outcome{Unread, ReasonUnread, "not all that matters was read yet"}
	case len(o.Steps) > 0:
		return Outcome{Changing, ReasonChanging, changing(o.Steps)}
	case len(o.Refused) > 0:
		return refused(o.Refused)
	}
	return Outcome{Ready, ReasonUpToDate, Sentence(strings.Join(append([]string{"up to date"}, o.Notes...), "; "))}
}

func waiting(w plan.Wait) Outcome {
	state := Waiting
	switch w.Reason {
	case plan.WaitFailed:
		state = Failed
	case plan.WaitForeign, plan.WaitVMID, plan.WaitPlace, plan.WaitRefused, plan.WaitRestart, plan.WaitNode,
		plan.WaitRoot, plan.WaitHost, plan.WaitRelease, plan.WaitMissing, plan.WaitUnfit, plan.WaitUnseen, "Paused", "ObserveOnly":
		state = Blocked
	}
	return Outcome{state, w.Reason, Sentence(w.Text)}
}

// changing names the next step and how many follow.
func changing(steps []plan.Step) string {
	text := steps[0].What
	if why := Why(steps[0].Why); why != "" {
		text += ": " + why
	}
	if more := len(steps) - 1; more > 0 {
		text += fmt.Sprintf("; then %s", Count(more, "more step"))
	}
	return Sentence(text)
}

func refused(list []plan.Refusal) Outcome {
	reason := plan.WaitRestart
	for _, r := range list {
		if r.Effect != plan.Restart {
			reason = plan.WaitRefused
		}
	}
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = refusal(r)
	}
	return Outcome{Blocked, reason, strings.Join(texts, "; ")}
}

// refusal says what wasn't done and what would agree to it, if anything does.
func refusal(r plan.Refusal) string {
	text := r.What
	if r.Why != "" {
		text += " (" + r.Why + ")"
	}
	if r.Allow == "" {
		return Sentence(text) + " can't be done"
	}
	return Sentence(text) + " needs " + r.Allow
}

// Condition is one aspect of an object, as Kubernetes writes them.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"` // True, False or Unknown
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Types of conditions. Degraded means that somebody has to do something.
const (
	ConditionReady       = "Ready"
	ConditionProgressing = "Progressing"
	ConditionDegraded    = "Degraded"
)

// Conditions are the aspects of an outcome: whether the object is ready,
// whether it goes on by itself, and whether somebody has to do something.
func (o Outcome) Conditions() []Condition {
	ready, progressing, degraded := "False", "False", "False"
	switch o.State {
	case Ready, Gone:
		ready = "True"
	case Unread:
		ready, progressing = "Unknown", "True"
	case Changing, Waiting:
		progressing = "True"
	case Blocked, Failed:
		degraded = "True"
	}
	of := func(typ, status string) Condition {
		return Condition{Type: typ, Status: status, Reason: o.Reason, Message: o.Message}
	}
	return []Condition{
		of(ConditionReady, ready),
		of(ConditionProgressing, progressing),
		of(ConditionDegraded, degraded),
	}
}
