package outside_test

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/test/kit/outside"
)

func TestTwoAtOnceMakeOneMachineForEachWish(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("first.yaml")
	l.bothSucceed(l.apply(shop), l.apply(shop))
	l.settled(shop, firstWishes()...)
	l.write("second.yaml")
	l.bothSucceed(l.apply(shop), l.apply(shop))
	l.settled(shop, secondWishes()...)
	l.bothSucceed(l.remove(shop), l.remove(shop))
	l.settled(shop)
}

func TestTwoSetsAtOnceStayApart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("first.yaml")
	l.bothSucceed(l.apply(shop), l.apply("stall"))
	l.sound(both(firstWishes())...)
	l.bothSucceed(l.remove(shop), l.apply("stall"))
	l.settled("stall", firstWishes()...)
}

// both are the owners in both sets.
func both(owners []model.Owner) []model.Owner {
	other := slices.Clone(owners)
	for i := range other {
		other[i].Set = "stall"
	}
	return append(owners, other...)
}

func (l *lab) bothSucceed(a, b outside.Command) {
	l.t.Helper()
	first, second := l.start(a), l.start(b)
	for _, p := range []*outside.Process{first, second} {
		if r := p.Wait(); r.Code != 0 {
			l.t.Fatal(r)
		}
	}
}
