package robustness

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

var (
	firstSeed = flag.Uint64("first", 1, "the first seed")
	seeds     = flag.Int("seeds", 500, "how many seeds")
	oneSeed   = flag.Uint64("seed", 0, "the one seed that TestSeed repeats")
	whole     = flag.Bool("whole", false, "print all that happened in TestSeed")
)

// live lives through a history.
func live(t *testing.T, h *history) (res result) {
	synctest.Test(t, func(t *testing.T) { res = liveThrough(h) })
	return res
}

func TestHistories(t *testing.T) {
	for i := range *seeds {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			check(t, drawHistory(seed))
		})
	}
}

func TestSeed(t *testing.T) {
	if *oneSeed == 0 {
		t.Skip("no -seed is given")
	}
	check(t, drawHistory(*oneSeed))
}

func check(t *testing.T, h *history) {
	res := live(t, h)
	if *whole {
		for _, e := range res.trace.entries {
			t.Log(e)
		}
	}
	if len(res.broken) > 0 {
		t.Errorf("seed %d: %s\n%s\n%s", h.seed, strings.Join(res.broken, "\n"), h, res.requests)
	}
}
