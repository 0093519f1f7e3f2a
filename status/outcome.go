package status

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Verdict is the state of an object in the words of a door.
type Verdict struct {
	State   model.State
	Reason  model.Reason // for machines
	Message string       // one sentence, for people
}

// Of returns the verdict on an object from its plan.
func (w Words) Of(o plan.Object) Verdict {
	switch {
	case o.Gone:
		return Verdict{model.StateGone, model.ReasonGone, "nothing of it is left"}
	case o.Wait != nil:
		return w.waiting(*o.Wait)
	case !o.Ready() && o.Unchanged():
		return Verdict{model.StateWaiting, model.WaitAgent, "its guest agent hasn't reported an address yet"}
	case !o.Look.Empty():
		return Verdict{model.StateUnread, model.ReasonUnread, "not all that matters was read yet"}
	case len(o.Steps) > 0:
		return Verdict{model.StateChanging, model.ReasonChanging, changing(o.Steps)}
	case len(o.Refused) > 0:
		return w.refused(o.Refused)
	}
	if !o.Verified() {
		return unverified(o)
	}
	text := "up to date"
	for _, n := range o.Notes {
		text += "; " + w.Note(n)
	}
	return Verdict{model.StateReady, model.ReasonUpToDate, text}
}

// unverified returns the verdict on an object that nothing is to be done for by what was read, which isn't all.
func unverified(o plan.Object) Verdict {
	text := "up to date, but for its guest agent, which wasn't asked for an address"
	if o.Unread {
		text = "up to date by the cluster's list; its config and its guest agent weren't read"
	}
	return Verdict{model.StateUnread, model.ReasonUnread, text}
}

func (w Words) waiting(why model.Wait) Verdict {
	return Verdict{why.Reason.State(), why.Reason, w.Wait(why)}
}

// Outcome returns the verdict on an object from its outcome.
func (w Words) Outcome(o model.Outcome) Verdict {
	if f := o.Failure; o.State == model.StateChanging && f != nil && f.Hard && o.Repeats {
		// What has failed for long is tried once more: that is no news.
		o.State, o.Text = model.StateFailed, f.What+" failed: "+f.Text
	}
	switch o.State {
	case model.StateReady:
		return w.Of(plan.Object{Notes: o.Notes})
	case model.StateGone:
		return w.Of(plan.Object{Gone: true})
	case model.StateRefused:
		return w.refused(o.Refused)
	case model.StateFailed:
		v := Verdict{model.StateFailed, model.WaitFailed, Sentence(o.Text)}
		if f := o.Failure; f != nil {
			v.Message = w.Say(o.Text, f.Hint)
		}
		return v
	case model.StateChanging:
	default:
		if o.Wait != nil {
			return w.waiting(*o.Wait)
		}
	}
	return Verdict{model.StateChanging, model.ReasonChanging, Sentence(o.Text)}
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

func (w Words) refused(list []plan.Refusal) Verdict {
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
	return Verdict{model.StateBlocked, reason, strings.Join(texts, "; ")}
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
	if w != CLI {
		return Sentence(text) + " isn't done: " + w.Advice(model.Advice{Do: r.Allow}) + " to allow it"
	}
	return Sentence(text) + " needs " + w.Consent(r.Allow)
}

// pending says what a guest runs with, and what applies later.
func pending(p model.Pending) string {
	var runs, next []string
	verb := "apply"
	if p.NextMemory != 0 {
		runs, next = append(runs, model.Bytes(p.Memory)), append(next, model.Bytes(p.NextMemory))
		verb = "applies" // 8 GiB does
	}
	if p.NextCPUs != 0 {
		runs, next = append([]string{Count(p.CPUs, "CPU")}, runs...), append([]string{Count(p.NextCPUs, "CPU")}, next...)
		if verb = "apply"; p.NextCPUs == 1 && len(next) == 1 {
			verb = "applies"
		}
	}
	text := ""
	if len(runs) > 0 {
		text = "runs with " + strings.Join(runs, ", ") + "; "
	}
	what := strings.Join(next, ", ")
	switch {
	case len(p.Keys) > 0 && what != "":
		return text + what + " and the new " + strings.Join(p.Keys, ", ") + " apply"
	case len(p.Keys) == 1:
		return "the new " + p.Keys[0] + " applies"
	case len(p.Keys) > 0:
		return "the new " + strings.Join(p.Keys, ", ") + " apply"
	}
	return text + what + " " + verb
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

// Conditions returns the conditions of an outcome: whether the object is ready, whether it
// continues by itself, and whether somebody has to act.
func (v Verdict) Conditions() []Condition {
	ready, progressing, degraded := "False", "False", "False"
	switch v.State {
	case model.StateReady, model.StateGone:
		ready = "True"
	case model.StateUnread:
		ready, progressing = "Unknown", "True"
	case model.StateChanging, model.StateWaiting:
		progressing = "True"
	case model.StateBlocked, model.StateFailed:
		degraded = "True"
	}
	of := func(typ, status string) Condition {
		return Condition{Type: typ, Status: status, Reason: v.Reason, Message: v.Message}
	}
	return []Condition{
		of(ConditionReady, ready),
		of(ConditionProgressing, progressing),
		of(ConditionDegraded, degraded),
	}
}
