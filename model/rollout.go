package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Rollout says how a guest is restarted or replaced along with others.
type Rollout struct {
	// Groups are those that the guest is counted with: its class, and the object that
	// stands for several guests.
	Groups []string
	// Max is how many of each of them may be unavailable at once; zero: one.
	Max Limit
}

// Elsewhere is what is known of the guests of a rollout group that others look after: other
// sessions of the same process, each for its own part of the objects.
type Elsewhere struct {
	Guests int      // that belong to the group
	Away   []Absent // those of them that are unavailable, or may be
	// Known means that Away is complete; if not, it has to be asked for.
	Known bool
}

// UnderWay are those of them that are being restarted or replaced.
func (e Elsewhere) UnderWay() (list []Absent) {
	for _, a := range e.Away {
		if a.UnderWay {
			list = append(list, a)
		}
	}
	return list
}

// Absent is a guest that is unavailable, or of which nobody can tell whether it is.
type Absent struct {
	Key      Key
	UnderWay bool   // it is being restarted or replaced
	Unknown  string // why nobody can tell; empty: it is unavailable
}

// Limit is a number, or a part of all in percent.
type Limit struct {
	Count   int
	Percent int
}

// ParseLimit reads "2" or "25%".
func ParseLimit(text string) (Limit, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1:
		return Limit{}, fmt.Errorf("want a number from 1 on, or a part such as 25%%, have %q", text)
	case percent && n > 100:
		return Limit{}, fmt.Errorf("want at most 100%%, have %q", text)
	case percent:
		return Limit{Percent: n}, nil
	}
	return Limit{Count: n}, nil
}

// IsZero reports whether nothing was said.
func (l Limit) IsZero() bool { return l == Limit{} }

// Of is how many of that many it is: parts are rounded down, and it is one at least.
func (l Limit) Of(all int) int {
	if l.Percent > 0 {
		return max(1, all*l.Percent/100)
	}
	return max(1, l.Count)
}

func (l Limit) String() string {
	if l.Percent > 0 {
		return strconv.Itoa(l.Percent) + "%"
	}
	return strconv.Itoa(max(1, l.Count))
}
