package robustness

import (
	"flag"
	"fmt"
	"testing"
)

var (
	operatorSeeds = flag.Int("operator-seeds", 60, "how many seeds about the operator")
	operatorSeed  = flag.Int64("operator-seed", -1, "the one seed that TestOperatorSeed repeats")
)

func TestOperatorHistories(t *testing.T) {
	all := newCensus()
	t.Run("seed", func(t *testing.T) {
		for i := range *operatorSeeds {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				res := check(t, drawOperator(seed))
				all.add(res.census)
			})
		}
	})
	t.Logf("\n%s", all)
}

func TestOperatorSeed(t *testing.T) {
	if *operatorSeed < 0 {
		t.Skip("no -operator-seed is given")
	}
	h := drawOperator(uint64(*operatorSeed))
	if len(kept) > 0 {
		h = h.only(kept)
	}
	check(t, h)
}

// foundByOperator are the seeds about the operator that have found something, in it or in
// the checks, see README.md. They are lived through in every run of the tests.
var foundByOperator = []uint64{307, 341, 398, 453, 647, 959, 964, 971, 1179, 5042}

func TestOperatorSeedsThatFoundSomething(t *testing.T) {
	for _, seed := range foundByOperator {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			check(t, drawOperator(seed))
		})
	}
}
