package tariff

import "testing"

func TestPrice(t *testing.T) {
	for _, c := range []struct {
		items         []int
		member, known bool
		want          int
	}{
		{nil, false, false, 10},
		{[]int{1, -2}, false, false, 12},
		{[]int{0}, false, false, 10},
		{[]int{1}, true, true, 10},
		{[]int{1}, true, false, 12},
		{[]int{1}, false, true, 12},
		{[]int{1, 1, 1}, false, false, 14},
	} {
		if got := Price(c.items, c.member, c.known); got != c.want {
			t.Errorf("%v: %d instead of %d", c, got, c.want)
		}
	}
}
