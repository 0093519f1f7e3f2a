package chance

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTheSameIsDrawnEachTime(t *testing.T) {
	if random() {
		t.Skip("other cases are asked for")
	}
	var rounds [2][]int
	for i := range rounds {
		rapid.Check(t, func(rt *rapid.T) { rounds[i] = append(rounds[i], rapid.Int().Draw(rt, "number")) })
	}
	if len(rounds[0]) == 0 || len(rounds[0]) != len(rounds[1]) {
		t.Fatalf("%d and %d numbers were drawn", len(rounds[0]), len(rounds[1]))
	}
	for i, n := range rounds[0] {
		if n != rounds[1][i] {
			t.Fatalf("the %dth number was %d, then %d", i, n, rounds[1][i])
		}
	}
}

func TestOfDearPropertiesFewCasesAreTried(t *testing.T) {
	if random() {
		t.Skip("other cases are asked for")
	}
	tried := 0
	CheckFew(t, 7, func(rt *rapid.T) { tried++ })
	if tried != 7 {
		t.Errorf("%d cases were tried", tried)
	}
}
