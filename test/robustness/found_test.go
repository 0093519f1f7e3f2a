package robustness

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// found are the seeds that have found something, see README.md. They are lived
// through in every run of the tests, however many seeds that has.
var found = []uint64{
	11, 82, 104, 194, 264, 289, 348, 447, 467, 473, 876, 991, 1543, 1776, 2203, 2359, 2388, 2608, 2658, 2701, 3109,
	3817, 3927, 3990, 4859, 5206, 5791, 5824, 5870, 6030, 8087, 9242, 9827, 12307, 13894, 20048, 20529, 707604, 800462, 801028, 1741851081, 2224060700, 2224062040, 2224062982, 2224065768, 3412808602, 3412812499, 3412813465, 5000001068, 5203316241, 5203316535, 7100000729, 9100004521, 9100005300, 9100008519,
}

// judgedWrong are the seeds that have found that a check was wrong.
var judgedWrong = []uint64{792, 1225, 1478, 4030, 4127, 4827, 5751, 5980, 6275, 7222, 7297, 7935, 8116, 8119, 8714, 8856, 9194, 9881, 11860, 12189, 12607, 13301, 13865, 30716, 707967, 709161, 2224057816, 2224058746, 2224062156, 2224064564, 2224065631, 2224066942, 3412805628, 3412806935, 3412810184, 3412810714, 3412814495, 3626516661, 6471121524, 77000238, 424201149, 1818543326, 9100002242, 9100004173, 9100009316, 16982, 5203311011, 5203313941, 5203317721}

func TestSeedsThatFoundSomething(t *testing.T) {
	for _, seed := range slices.Concat(found, judgedWrong) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			check(t, drawWith(seed, 0)) // as it was when it was found
		})
	}
}

// foundByHand are the seeds that have found something in histories that end with handiwork; the last
// one that a check was wrong.
var foundByHand = []uint64{2716, 3427, 7209, 3626515077, 1668}

func TestSeedsThatFoundSomethingByHand(t *testing.T) {
	for _, seed := range foundByHand {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			check(t, drawWith(seed, 1))
		})
	}
}

// foundByNeighbour are the seeds that have found something with a neighbour beside them.
var foundByNeighbour = []uint64{334, 1119000220, 9100000391, 9200000900, 6612041046}

func TestNeighbourSeedsThatFoundSomething(t *testing.T) {
	for _, seed := range foundByNeighbour {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := drawWith(seed, 0)
			h.invite()
			check(t, h)
		})
	}
}

// inTable is a row of the table: | what was wrong | seeds | commit |.
var inTable = regexp.MustCompile("(?m)^\\|[^|]+\\| ([0-9, ]+) \\| `[0-9a-f]{7,}` \\|$")

func TestTheTableNamesTheSeedsThatFoundSomething(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []uint64
	for _, row := range inTable.FindAllStringSubmatch(string(page), -1) {
		for _, text := range strings.Split(row[1], ", ") {
			seed, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			named = append(named, seed)
		}
	}
	slices.Sort(named)
	if !slices.Equal(named, found) {
		t.Errorf("the table names %v, not %v", named, found)
	}
}
