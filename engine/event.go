package engine

import (
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Planned  Kind = "planned"  // there is something to do
	Started  Kind = "started"  // a step was begun
	Progress Kind = "progress" // a step is under way
	Done     Kind = "done"     // a step has succeeded
	Failed   Kind = "failed"   // a step has failed
	Waiting  Kind = "waiting"  // the object waits
	Ready    Kind = "ready"    // the object is up to date
)

// Event is something that happened to an object.
type Event struct {
	Time     time.Time          `json:"time"`
	Owner    model.Owner        `json:"owner"`
	VMID     int                `json:"vmid,omitempty"`
	Node     string             `json:"node,omitempty"`
	Kind     Kind               `json:"kind"`
	Action   string             `json:"-"`              // the kind of the step, "Clone"
	Reason   model.Reason       `json:"-"`              // of a wait or of an outcome
	Step     string             `json:"step,omitempty"` // what it does
	Text     string             `json:"text,omitempty"` // reason or error
	Diff     []model.Difference `json:"-"`              // its differences, which follow the text
	Obvious  bool               `json:"-"`              // the reason is trivial, see [plan.Step]
	Hint     model.Advice       `json:"-"`
	Refused  []plan.Refusal     `json:"-"`                  // the refused steps
	Task     string             `json:"task,omitempty"`     // UPID
	Fraction float64            `json:"fraction,omitempty"` // of a step that is under way
	Final    bool               `json:"-"`                  // a failed step isn't retried
}

// stepEvent returns an event of a step, with why it is done.
func stepEvent(k Kind, s plan.Step) Event {
	e := Event{Kind: k, Action: kindOf(s.Action), Step: s.What, Obvious: s.Obvious}
	e.Text, e.Diff = s.Because()
	return e
}
