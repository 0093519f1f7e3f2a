package robustness

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var (
	imageSeeds = flag.Int("image-seeds", 10, "how many seeds about images")
	imageSeed  = flag.Int64("image-seed", -1, "the one seed that TestImageSeed repeats")
)

// TestImageHistories lives through histories about images.
func TestImageHistories(t *testing.T) {
	all := newCensus()
	t.Run("seed", func(t *testing.T) {
		for i := range *imageSeeds {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				all.add(check(t, drawImages(seed)).census)
			})
		}
	})
	t.Logf("\n%s", all)
	var lacking []string
	for _, k := range aboutImages {
		if all.kinds[k].told == 0 {
			lacking = append(lacking, string(k))
		}
	}
	if *imageSeeds >= 60 && len(lacking) > 0 {
		t.Errorf("what never made a difference in %d histories: %s", *imageSeeds, strings.Join(lacking, ", "))
	}
}

func TestImageSeed(t *testing.T) {
	if *imageSeed < 0 {
		t.Skip("no -image-seed is given")
	}
	h := drawImages(uint64(*imageSeed))
	if len(kept) > 0 {
		h = h.only(kept)
	}
	check(t, h)
}

// foundByImages are the seeds about images that have found something, in us or in the checks, see README.md. They are
// lived through in every run of the tests.
var foundByImages = []uint64{1, 8, 14, 57, 106, 149, 6001, 6011, 6043, 7000087, 914300629, 2224057180, 2224057242, 2224057340, 2224057465, 3141592028, 4127730156, 5203310043, 5203310438}

func TestImageSeedsThatFoundSomething(t *testing.T) {
	for _, seed := range foundByImages {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			check(t, drawImages(seed))
		})
	}
}
