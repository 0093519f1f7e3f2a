package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Rollout limits how many guests are restarted or replaced at once.
type Rollout struct {
	// Groups are the groups that the guest belongs to: its class, and the object that stands
	// for several guests.
	Groups []string
	// Max is how many guests of each group may be unavailable at once; zero: one.
	Max Limit
}

// Elsewhere is what is known about guests of a rollout group that belong to other sessions
// of the same process.
type Elsewhere struct {
	Guests int      // guests of the group
	Away   []Absent // guests of the group that are unavailable, or may be
	// Known means that Away is complete; otherwise it has to be read.
	Known bool
}

// UnderWay returns guests of the group that are being restarted or replaced.
func (e Elsewhere) UnderWay() (list []Absent) {
	for _, a := range e.Away {
		if a.UnderWay {
			list = append(list, a)
		}
	}
	return list
}

// Absent is a guest that is unavailable, or whose availability isn't known.
type Absent struct {
	Key      Key
	UnderWay bool   // it is being restarted or replaced
	Unknown  string // why it isn't known; empty: the guest is unavailable
}

// Limit is a number or a percentage.
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

// IsZero reports whether there is no limit.
func (l Limit) IsZero() bool { return l == Limit{} }

// Of returns the limit for a total: percentages are rounded down, to one at least.
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
