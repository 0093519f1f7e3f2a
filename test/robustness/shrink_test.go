package robustness

import (
	"regexp"
	"slices"
	"testing"
)

// shrink finds a shorter history that fails in the same way: it leaves out
// events, many at first and one by one in the end.
func shrink(t *testing.T, h *history, want string) (keep []int, res result) {
	for i := range h.events {
		keep = append(keep, i)
	}
	tries := 0
	fails := func(list []int) bool {
		tries++
		got := live(t, h.only(list))
		if !slices.ContainsFunc(got.broken, func(text string) bool { return kindOf(text) == want }) {
			return false
		}
		keep, res = list, got
		return true
	}
	for size := len(keep) / 2; size > 0; {
		dropped := false
		for at := 0; at < len(keep) && tries < mostTries; {
			end := min(at+size, len(keep))
			if fails(slices.Concat(keep[:at:at], keep[end:])) {
				dropped = true
			} else {
				at = end
			}
		}
		if !dropped || size > 1 {
			size /= 2
		}
	}
	return keep, res
}

// mostTries bounds the search.
const mostTries = 150

var numbers = regexp.MustCompile(`"[^"]*"|\[[^]]*\]|\d+|vm-[a-z]`)

// kindOf is a failure without what differs from history to history.
func kindOf(text string) string {
	text = numbers.ReplaceAllString(text, "…")
	if len(text) > 60 {
		text = text[:60]
	}
	return text
}
