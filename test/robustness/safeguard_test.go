package robustness

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
)

var safeguards = flag.Bool("safeguards", false, "look for the first seed that notices the lack of each safeguard")

// noticed are seeds that notice the lack of a safeguard, so that this needn't be
// searched for each time.
var noticed = map[weakness]uint64{noOwnership: 6, noVMID: 0, noDigest: 37, noLook: 13, noLock: 0, noAdmission: 242}

// TestTheLackOfEachSafeguardIsNoticed switches the safeguards off, one at a time.
func TestTheLackOfEachSafeguardIsNoticed(t *testing.T) {
	var mu sync.Mutex
	rows := map[weakness]string{}
	t.Run("without", func(t *testing.T) {
		for _, weak := range weaknesses {
			t.Run(string(weak), func(t *testing.T) {
				t.Parallel()
				seed, said, ok := firstToNotice(t, weak)
				if !ok {
					t.Errorf("%d histories don't notice it", enough)
					return
				}
				if first := live(t, drawHistory(seed)); len(first.broken) > 0 {
					t.Errorf("seed %d fails with it too: %s", seed, first.broken[0])
				}
				mu.Lock()
				defer mu.Unlock()
				rows[weak] = fmt.Sprintf("| %s | %d | %s |", weak, seed, said)
			})
		}
	})
	table := []string{"| safeguard | seed | what the check said |", "|---|---|---|"}
	for _, weak := range weaknesses {
		table = append(table, rows[weak])
	}
	t.Logf("\n%s", strings.Join(table, "\n"))
}

// firstToNotice finds a seed that notices the lack of a safeguard: the one that is
// known to, or the first.
func firstToNotice(t *testing.T, weak weakness) (seed uint64, said string, ok bool) {
	t.Helper()
	tries := []uint64{}
	if known, ok := noticed[weak]; ok && !*safeguards {
		tries = append(tries, known)
	}
	for seed := range uint64(enough) {
		tries = append(tries, seed)
	}
	for _, seed := range tries {
		h := drawHistory(seed)
		h.weak = weak
		if res := live(t, h); len(res.broken) > 0 {
			line, _, _ := strings.Cut(res.broken[0], "\n")
			return seed, line[:min(len(line), 140)], true
		}
	}
	return 0, "", false
}
