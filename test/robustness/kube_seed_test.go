package robustness

import (
	"flag"
	"fmt"
	"testing"
)

var (
	operatorSeeds = flag.Int("operator-seeds", 10, "how many seeds about the operator")
	operatorSeed  = flag.Int64("operator-seed", -1, "the one seed that TestOperatorSeed repeats")
	onlyMachines  = flag.Bool("only-machines", false, "TestOperatorSeed: without objects of other kinds than VirtualMachines of one machine each")
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
	if *onlyMachines {
		h = drawMachines(uint64(*operatorSeed))
	}
	if len(kept) > 0 {
		h = h.only(kept)
	}
	check(t, h)
}

// foundByMachines are the seeds about the operator that have found something, in it or in
// the checks, see README.md, with VirtualMachines only. They are lived through in every run
// of the tests.
var foundByMachines = []uint64{307, 341, 398, 453, 647, 959, 964, 971, 1179, 5042}

// foundByKinds are those that have found something with objects of all kinds.
var foundByKinds = []uint64{47, 70, 178, 191, 218, 513, 537, 720, 750, 949, 1202, 1310, 1321, 1628, 1949, 1973, 1469919038, 1469919084, 2224057993, 3412805634, 5817340024,
	8100000519, 8100001074, 8100001149, 9100000405, 9100000839, 9100001178, 9100001731, 6061, 9200000855, 5203311954}

func TestOperatorSeedsThatFoundSomething(t *testing.T) {
	live := func(seeds []uint64, draw func(uint64) *history) {
		for _, seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				check(t, draw(seed))
			})
		}
	}
	live(foundByMachines, drawMachines)
	live(foundByKinds, drawOperator)
}
