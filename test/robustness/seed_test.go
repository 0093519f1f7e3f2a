package robustness

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

var (
	firstSeed = flag.Uint64("first", 0, "the first seed")
	seeds     = flag.Int("seeds", 100, "how many seeds")
	oneSeed   = flag.Int64("seed", -1, "the one seed that TestSeed repeats")
	whole     = flag.Bool("whole", false, "print all that happened in TestSeed")
	asIs      = flag.Bool("asis", false, "don't look for a shorter history that fails")
	tallyFile = flag.String("census", "", "file that gets the count of all that happened")
	kept      indices
)

// enough is how many histories have something of everything. Of 500, two in eight lacked what happens seldom, such as a machine
// that is moved by name.
const enough = 3000

func init() { flag.Var(&kept, "keep", "numbers of the events that TestSeed keeps, as 0,3,4") }

// TestMain collects garbage less often: there is a lot of it, and none of it is big.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	if err := os.Setenv("GOGC", "1000"); err != nil { // so that the operator leaves it alone
		panic(err)
	}
	utilruntime.ErrorHandlers = nil // Kubernetes' libraries sleep there, by a clock of their own
	code := m.Run()
	for _, line := range failures.sorted() {
		fmt.Println(line)
	}
	os.Exit(code)
}

// failures are the histories that went wrong, a line each: they are repeated at the end, where people look.
var failures failed

type failed struct {
	mu    sync.Mutex
	lines []string
}

func (f *failed) add(test, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, "went wrong: "+test+": "+what)
}

func (f *failed) sorted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.lines))
}

// live lives through a history.
func live(t *testing.T, h *history) (res result) {
	var shown atomic.Pointer[trace]
	defer hung(t, h, &shown)()
	defer func() {
		if tr := shown.Load(); res.trace == nil && tr != nil { // as when all wait for each other
			t.Logf("seed %d has no end:\n%s\n%s", h.seed, h, tr.around(60))
		}
	}()
	synctest.Test(t, func(*testing.T) { res = liveThrough(h, &shown) })
	return res
}

// hung prints what has happened if the test is about to be killed since a history
// hangs.
func hung(t *testing.T, h *history, shown *atomic.Pointer[trace]) (stop func()) {
	deadline, ok := t.Deadline()
	if !ok {
		return func() {}
	}
	left := time.Until(deadline)
	timer := time.AfterFunc(left-left/20, func() {
		fmt.Fprintf(os.Stderr, "seed %d hangs:\n%s\n%s\n", h.seed, h, shown.Load().around(60))
	})
	return func() { timer.Stop() }
}

func TestHistories(t *testing.T) {
	all := newCensus()
	t.Run("seed", func(t *testing.T) {
		for i := range *seeds {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				res := check(t, drawHistory(seed))
				all.add(res.census)
			})
		}
	})
	t.Logf("\n%s", all)
	if *tallyFile != "" {
		if err := os.WriteFile(*tallyFile, []byte(all.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
	if lacking := all.lacking(); *seeds >= enough && len(lacking) > 0 {
		t.Errorf("what never made a difference in %d histories: %s", *seeds, strings.Join(lacking, ", "))
	}
}

func TestSeed(t *testing.T) {
	if *oneSeed < 0 {
		t.Skip("no -seed is given")
	}
	h := drawHistory(uint64(*oneSeed))
	if len(kept) > 0 {
		h = h.only(kept)
	}
	check(t, h)
}

func check(t *testing.T, h *history) result {
	t.Helper()
	res := live(t, h)
	if *whole {
		t.Log("\n" + res.trace.String())
	}
	if len(res.broken) > 0 {
		failures.add(t.Name(), res.broken[0])
		t.Error(explain(t, h, res))
	}
	return res
}

// explain says what is wrong with a history, with the shortest one that fails in
// the same way and the requests around.
func explain(t *testing.T, h *history, res result) string {
	t.Helper()
	text := strings.Join(res.broken, "\n")
	if len(kept) > 0 || *asIs {
		return fmt.Sprintf("seed %d: %s\n%s\n%s", h.seed, text, h, res.requests)
	}
	keep, short := shrink(t, h, kindOf(res.broken[0]))
	if short.trace == nil {
		return fmt.Sprintf("seed %d: %s\nIt can't be made shorter:\n%s\n%s", h.seed, text, h, res.requests)
	}
	return fmt.Sprintf("seed %d: %s\nThe shortest history that fails so, to be repeated with %s -keep %s, is:\n%s\n%s\n%s",
		h.seed, text, h.flags(), strings.Trim(strings.ReplaceAll(fmt.Sprint(keep), " ", ","), "[]"), h.only(keep), strings.Join(short.broken, "\n"), short.requests)
}

// flags are the ones that repeat a history.
func (h *history) flags() string {
	switch {
	case h.world.spread:
		return fmt.Sprintf("-run ImageSeed -image-seed %d", h.seed)
	case h.neighbour:
		return fmt.Sprintf("-run NeighbourHistories -neighbour-seeds 1 -first %d -by-hand %d", h.seed, map[bool]int{true: 1}[h.hands])
	}
	return fmt.Sprintf("-run TestSeed -seed %d -by-hand %d", h.seed, map[bool]int{true: 1}[h.hands])
}

// indices is a flag for numbers of events.
type indices []int

func (l *indices) String() string { return fmt.Sprint(*l) }

// Set takes numbers with commas between them.
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
