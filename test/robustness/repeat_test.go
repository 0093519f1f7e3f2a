package robustness

import (
	"fmt"
	"testing"
)

func TestTheSameSeedGivesTheSameHistory(t *testing.T) {
	for i := range min(40, *seeds) {
		seed := *firstSeed + uint64(i)*7
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			first, second := live(t, drawHistory(seed)), live(t, drawHistory(seed))
			if first.digest == second.digest {
				return
			}
			a, b := first.trace.entries, second.trace.entries
			for i := range min(len(a), len(b)) {
				if a[i].String() != b[i].String() {
					for j := max(0, i-3); j < min(i+4, len(a), len(b)); j++ {
						t.Logf("%d %s\n%d %s", a[j].at, a[j], b[j].at, b[j])
					}
					t.Fatalf("seed %d: the %dth entries of %d and %d differ", seed, i, len(a), len(b))
				}
			}
			t.Fatalf("seed %d: there are %d and %d entries", seed, len(a), len(b))
		})
	}
}
