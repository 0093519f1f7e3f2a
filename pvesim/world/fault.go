package world

import (
	"fmt"
	"path"
	"strings"
)

// Fault is a rule that makes something go wrong: what it matches, when it
// strikes, what it does. Empty fields match anything.
type Fault struct {
	ID int `json:"id,omitempty"` // given by the simulator

	// What: requests by method, path below /api2/json ("*" is one segment,
	// "**" any number), node and VM in the path; or tasks by their type.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	Node   string `json:"node,omitempty"`
	VM     int    `json:"vm,omitempty"`
	Task   string `json:"task,omitempty"` // "qmclone", "*"; then it is about tasks, not requests

	// When: with a probability, only at the nth match, at most so often.
	Probability float64 `json:"probability,omitempty"` // 0: always
	Nth         int     `json:"nth,omitempty"`
	Times       int     `json:"times,omitempty"`

	// Then, for requests:
	Status int      `json:"status,omitempty"` // answer this instead
	Reason string   `json:"reason,omitempty"`
	Delay  Duration `json:"delay,omitempty"` // before anything else
	Drop   string   `json:"drop,omitempty"`  // "before" or "after" doing it: close the connection without an answer
	// Away makes the node of the request, or the one named, unreachable.
	Away string `json:"away,omitempty"` // node; "." is the request's
	// Hold takes a lock before the request: "config" of its VM, or
	// "storage:NAME".
	Hold string `json:"hold,omitempty"`
	// For is how long Away, Hold and Slow last. Without it a node stays away
	// and a storage slow.
	For Duration `json:"for,omitempty"`
	// Slow makes copies on a storage take so many times as long.
	Slow    float64 `json:"slow,omitempty"`
	Storage string  `json:"storage,omitempty"`

	// For tasks, besides Delay: the error they end with. "instead" (default)
	// of doing anything, "after" having done it all. With no error text,
	// "instead" makes a task say OK that did nothing.
	Error string `json:"error,omitempty"`
	Mode  string `json:"mode,omitempty"`
}

// Check returns an error that names what is wrong with a rule.
func (f Fault) Check() error {
	switch {
	case f.Drop != "" && f.Drop != "before" && f.Drop != "after":
		return fmt.Errorf("drop %q: want before or after", f.Drop)
	case f.Mode != "" && f.Mode != "instead" && f.Mode != "after":
		return fmt.Errorf("mode %q: want instead or after", f.Mode)
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("probability %v: want 0 to 1", f.Probability)
	case f.Status != 0 && (f.Status < 100 || f.Status > 599):
		return fmt.Errorf("status %d: want 100 to 599", f.Status)
	case f.Hold != "" && f.Hold != "config" && !strings.HasPrefix(f.Hold, "storage:"):
		return fmt.Errorf("hold %q: want config or storage:NAME", f.Hold)
	case f.Hold != "" && f.For <= 0:
		return fmt.Errorf("hold needs a time: for")
	case f.Delay < 0 || f.For < 0 || f.Slow < 0 || f.Nth < 0 || f.Times < 0:
		return fmt.Errorf("a number is negative")
	case f.Slow != 0 && f.Storage == "":
		return fmt.Errorf("slow needs a storage")
	case f.Task == "" && f.Status == 0 && f.Delay == 0 && f.Drop == "" && f.Away == "" && f.Hold == "" && f.Slow == 0:
		return fmt.Errorf("the rule does nothing")
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("path %q: %w", f.Path, err)
	}
	return nil
}
