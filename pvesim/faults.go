package pvesim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
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

// Check says what is wrong with a rule.
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

// FaultState is a rule with how often it matched and struck.
type FaultState struct {
	Fault
	Matched int `json:"matched"`
	Struck  int `json:"struck"`
}

// faultSet holds the rules.
type faultSet struct {
	rules  []*FaultState
	lastID int
	seen   map[string]uint64
	slow   map[string]slowness
}

type slowness struct {
	factor float64
	until  time.Time
}

func (f *faultSet) init(rules []Fault) error {
	f.seen, f.slow = map[string]uint64{}, map[string]slowness{}
	for _, r := range rules {
		if err := r.Check(); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
		f.add(r)
	}
	return nil
}

func (f *faultSet) add(r Fault) int {
	f.lastID++
	r.ID = f.lastID
	f.rules = append(f.rules, &FaultState{Fault: r})
	return r.ID
}

// AddFault adds a rule and returns its id.
func (s *Sim) AddFault(r Fault) (int, error) {
	if err := r.Check(); err != nil {
		return 0, fmt.Errorf("fault: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Away != "" && r.Away != "." && s.state.Nodes[r.Away] == nil {
		return 0, fmt.Errorf("fault: node %q isn't there", r.Away)
	}
	return s.faults.add(r), nil
}

// RemoveFault takes a rule away; id 0 takes them all.
func (s *Sim) RemoveFault(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == 0 {
		s.faults.rules, s.faults.slow = nil, map[string]slowness{}
		return
	}
	s.faults.rules = slices.DeleteFunc(s.faults.rules, func(r *FaultState) bool { return r.ID == id })
}

// Faults lists the rules with their counts.
func (s *Sim) Faults() []FaultState {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []FaultState{}
	for _, r := range s.faults.rules {
		list = append(list, *r)
	}
	return list
}

// strikes decides whether a rule that matches strikes now. The decision
// depends on the seed, the rule, the subject and how often it was asked for
// the same: not on what else goes on.
func (f *faultSet) strikes(seed uint64, r *FaultState, subject string) bool {
	r.Matched++
	if r.Nth > 0 && r.Matched != r.Nth || r.Times > 0 && r.Struck >= r.Times {
		return false
	}
	if r.Probability > 0 && r.Probability < 1 {
		key := strconv.Itoa(r.ID) + " " + subject
		f.seen[key]++
		var head [16]byte
		binary.BigEndian.PutUint64(head[:8], seed)
		binary.BigEndian.PutUint64(head[8:], f.seen[key])
		sum := sha256.Sum256(append(head[:], key...))
		if float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53) >= r.Probability {
			return false
		}
	}
	r.Struck++
	return true
}

// matchPath matches a pattern against a path, segment by segment.
func matchPath(pattern, p string) bool {
	if pattern == "" {
		return true
	}
	return matchSegments(segments(pattern), segments(p))
}

func segments(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

func matchSegments(pattern, p []string) bool {
	if len(pattern) == 0 {
		return len(p) == 0
	}
	if pattern[0] == "**" {
		for i := range len(p) + 1 {
			if matchSegments(pattern[1:], p[i:]) {
				return true
			}
		}
		return false
	}
	if len(p) == 0 {
		return false
	}
	ok, _ := path.Match(pattern[0], p[0])
	return ok && matchSegments(pattern[1:], p[1:])
}
