package robustness

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestTheSameSeedGivesTheSameTrace(t *testing.T) {
	// On two processors, which of two answers of the same instant is seen first is left to chance.
	was := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
	for seed := range uint64(40) {
		if drawHistory(seed).world.crowd {
			continue // many tasks end in the same instant, and who hears of it first is left to chance
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			// In a group, too, machines go on in the same instant.
			first, second := live(t, drawHistory(seed).ungrouped()).trace.String(), live(t, drawHistory(seed).ungrouped()).trace.String()
			if first == second {
				return
			}
			a, b := strings.Split(first, "\n"), strings.Split(second, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Fatalf("the %s entries of %d and %d differ:\n%s\n%s", nth(i), len(a), len(b), a[i], b[i])
				}
			}
			t.Fatalf("there are %d and %d entries", len(a), len(b))
		})
	}
}
