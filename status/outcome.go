package status

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
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
	Reason  model.Reason // for machines
	Message string       // one sentence, for people
}

// Of says how the object is that a plan is for.
func (w Words) Of(o plan.Object) Outcome {
	switch {
	case o.Gone:
		return Outcome{Gone, model.ReasonGone, "nothing of it is left"}
	case o.Wait != nil:
		return w.waiting(*o.Wait)
	case !o.Ready() && o.Unchanged():
		return Outcome{Waiting, model.WaitAgent, "its guest agent hasn't reported an address yet"}
	case !o.Look.Empty():
		return Outcome{Unread, model.ReasonUnread, "not all that matters was read yet"}
	case len(o.Steps) > 0:
		return Outcome{Changing, model.ReasonChanging, changing(o.Steps)}
	case len(o.Refused) > 0:
		return w.refused(o.Refused)
	}
	text := "up to date"
	for _, n := range o.Notes {
		text += "; " + w.Note(n)
	}
	return Outcome{Ready, model.ReasonUpToDate, text}
}

func (w Words) waiting(why plan.Wait) Outcome {
	state := Waiting
	switch ends := why.Reason.Facts().Ends; {
	case why.Reason == model.WaitFailed:
		state = Failed
	case ends == model.EndsByPerson || ends == model.EndsByReturn || ends == model.EndsByHolder:
		state = Blocked
	}
	return Outcome{state, why.Reason, w.Wait(why)}
}

// changing names the next step and how many follow.
func changing(steps []plan.Step) string {
	text := steps[0].What
	if why := Why(steps[0]); why != "" {
		text += ": " + why
	}
	if more := len(steps) - 1; more > 0 {
		text += fmt.Sprintf("; then %s", Count(more, "more step"))
	}
	return Sentence(text)
}

func (w Words) refused(list []plan.Refusal) Outcome {
	reason := model.WaitRestart
	for _, r := range list {
		if r.Effect != plan.Restart {
			reason = model.WaitRefused
		}
	}
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = w.refusal(r)
	}
	return Outcome{Blocked, reason, strings.Join(texts, "; ")}
}

// refusal says what wasn't done and what would agree to it, if anything does.
func (w Words) refusal(r plan.Refusal) string {
	if w == Kubernetes && r.Effect == plan.Restart && r.Allow == model.AllowRestart && !r.Late {
		return pending(r.Pending) + " at the next restart: restart it, or " + w.Advice(model.Advice{Do: r.Allow})
	}
	text := r.What
	if why := Reason(r.Why, r.Diff); why != "" {
		text += " (" + why + ")"
	}
	if r.Allow == "" {
		return Sentence(text) + " can't be done"
	}
	if w == Kubernetes {
		return Sentence(text) + " isn't done: " + w.Advice(model.Advice{Do: r.Allow}) + " to allow it"
	}
	return Sentence(text) + " needs " + w.Consent(r.Allow)
}

// pending says what a guest runs with, and what applies later.
func pending(p plan.Pending) string {
	text := ""
	if len(p.Runs) > 0 {
		text = "runs with " + strings.Join(p.Runs, ", ") + "; "
	}
	what := strings.Join(p.Next, ", ")
	switch {
	case len(p.Keys) > 0 && what != "":
		return text + what + " and the new " + strings.Join(p.Keys, ", ") + " apply"
	case len(p.Keys) == 1:
		return "the new " + p.Keys[0] + " applies"
	case len(p.Keys) > 0:
		return "the new " + strings.Join(p.Keys, ", ") + " apply"
	case len(p.Next) == 1:
		return text + what + " " + applies(what)
	}
	return text + what + " apply"
}

// applies is the verb of a single size: several CPUs apply, 8 GiB applies.
func applies(what string) string {
	if strings.HasSuffix(what, "CPUs") {
		return "apply"
	}
	return "applies"
}

// Condition is one aspect of an object, as Kubernetes writes them.
type Condition struct {
	Type    string       `json:"type"`
	Status  string       `json:"status"` // True, False or Unknown
	Reason  model.Reason `json:"reason"`
	Message string       `json:"message"`
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
