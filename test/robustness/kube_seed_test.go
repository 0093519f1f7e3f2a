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
