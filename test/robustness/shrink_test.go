package robustness

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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

func TestAFailingHistoryIsMadeAsShortAsItCanBe(t *testing.T) {
	h := drawHistory(2)
	for seed := uint64(2); len(h.events) < 15 || h.world.crowd; seed++ {
		h = drawHistory(seed)
	}
	bad := misdeeds[0]
	h.events = slices.Insert(h.events, len(h.events)/2, event{0, "misdeed", bad.what, func(r *run) {
		bad.do(r, 0)
		r.watch.look()
	}})
	res := live(t, h)
	if len(res.broken) == 0 {
		t.Fatal("nobody notices the misdeed")
	}
	text := explain(t, h, res)
	if n := strings.Count(text, ". after "); n != 1 || !strings.Contains(text, "0. after 0s: "+bad.what) {
		t.Errorf("%d events are left:\n%s", n, text)
	}
	for _, part := range []string{
		fmt.Sprintf("seed %d: VM ", h.seed), fmt.Sprintf("-run TestSeed -seed %d -by-hand 0 -keep %d", h.seed, (len(h.events)-1)/2), "BROKEN: VM ", "— " + bad.what,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("it doesn't say %q:\n%s", part, text)
		}
	}
}
