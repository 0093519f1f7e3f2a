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
