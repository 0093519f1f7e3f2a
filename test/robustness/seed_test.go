package robustness

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

var (
	firstSeed = flag.Uint64("first", 1, "the first seed")
	seeds     = flag.Int("seeds", 0, "how many seeds")
	oneSeed   = flag.Uint64("seed", 0, "the one seed that TestSeed repeats")
	figures   = flag.Bool("figures", false, "print figures of each seed")
	whole     = flag.Bool("whole", false, "print all that happened in TestSeed")
	asIs      = flag.Bool("asis", false, "don't look for a shorter history that fails")
	kept      indices
)

func init() { flag.Var(&kept, "keep", "numbers of the events that TestSeed keeps, as 0,3,4") }

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
	h := drawHistory(*oneSeed)
	if len(kept) > 0 {
		h = h.only(kept)
	}
	check(t, h)
}

func check(t *testing.T, h *history) {
	res := live(t, h)
	if *whole {
		for _, e := range res.trace.entries {
			t.Log(e)
		}
	}
	if *figures {
		t.Logf("seed %d: %d requests, at most %d within a minute, %v", h.seed, len(res.trace.entries), res.busiest, res.trace.entries[len(res.trace.entries)-1].at)
	}
	if len(res.broken) == 0 {
		return
	}
	text := strings.Join(res.broken, "\n")
	if len(kept) > 0 || *asIs {
		t.Errorf("seed %d: %s\n%s\n%s", h.seed, text, h, res.requests)
		return
	}
	keep, short := shrink(t, h, kindOf(res.broken[0]))
	if short.trace == nil {
		t.Errorf("seed %d: %s\nIt can't be made shorter:\n%s\n%s", h.seed, text, h, res.requests)
		return
	}
	t.Errorf("seed %d: %s\nThe shortest history that fails so, to be repeated with -run Seed -seed %d -keep %s, is:\n%s\n%s\n%s",
		h.seed, text, h.seed, strings.Trim(strings.ReplaceAll(fmt.Sprint(keep), " ", ","), "[]"), h.only(keep), strings.Join(short.broken, "\n"), short.requests)
}

// indices is a flag for numbers of events.
type indices []int

func (l *indices) String() string { return fmt.Sprint(*l) }

func (l *indices) Set(text string) error {
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return err
		}
		*l = append(*l, n)
	}
	return nil
}
