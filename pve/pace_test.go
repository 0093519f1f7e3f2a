package pve

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// Tasks of a type mostly take as long as those before them: they are looked at when they are likely to have
// ended, and not all the time.
func TestTasksAreLookedAtWhenTheyAreLikelyToHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		w := c.Watch(t.Context(), WatchOptions{})
		const rounds, takes = 30, 2 * time.Second
		one := func(i int, takes time.Duration) (late time.Duration) {
			begun := time.Now()
			<-w.Follow(s.start("pve1", "qmclone", i, takes, "OK").upid)
			return time.Since(begun) - takes
		}
		for i := range rounds {
			if late := one(i, takes); late > takes/8 {
				t.Errorf("the end of task %d was noticed %v late", i, late)
			}
		}
		if n := len(s.requests()); n > 2*rounds {
			t.Errorf("%d requests for %d tasks", n, rounds)
		}
		if late := one(rounds, takes/4); late > mostPatient {
			t.Errorf("the end of a quicker task was noticed %v late", late)
		}
	})
}

// One slow task doesn't have the quick ones after it noticed late.
func TestASlowTaskDoesNotDelayTheQuickOnesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		w := c.Watch(t.Context(), WatchOptions{})
		for i, takes := range []time.Duration{time.Second, time.Second, 30 * time.Second, time.Second, time.Second} {
			begun := time.Now()
			<-w.Follow(s.start("pve1", "qmclone", i, takes, "OK").upid)
			if late := time.Since(begun) - takes; late > max(takes/8, 400*time.Millisecond) {
				t.Errorf("the end of task %d, which took %v, was noticed %v late", i, takes, late)
			}
		}
	})
}

// Tasks that are expected to take long are looked at seldom before that, and one that is quicker is noticed after no more than
// a third of its time.
func TestALongTaskIsLookedAtSeldomBeforeItIsExpectedToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		w := c.Watch(t.Context(), WatchOptions{})
		one := func(i int, takes time.Duration) (looks int, late time.Duration) {
			before, begun := len(s.requests()), time.Now()
			<-w.Follow(s.start("pve1", "qmclone", i, takes, "OK").upid)
			return len(s.requests()) - before, time.Since(begun) - takes
		}
		first, _ := one(1, time.Minute)
		second, _ := one(2, time.Minute)
		if second > first/2 {
			t.Errorf("%d looks at the first task and %d at the second", first, second)
		}
		if _, late := one(3, 20*time.Second); late > 20*time.Second/3 {
			t.Errorf("a quicker one was noticed %v late", late)
		}
	})
}

// What is learnt at one instant doesn't depend on who answers first.
func TestWhatIsLearntAtOnceHasNoOrder(t *testing.T) {
	at := time.Unix(1000, 0)
	ages := []time.Duration{2 * time.Second, 3 * time.Second, 1900 * time.Millisecond, 5 * time.Second}
	var want time.Duration
	for seed := range uint64(20) {
		p := &pace{}
		p.ended("qmclone", at, 4*time.Second, true)
		now := at.Add(time.Second)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(ages), func(i, j int) { ages[i], ages[j] = ages[j], ages[i] })
		for _, age := range ages {
			p.ended("qmclone", now, age, age > 2*time.Second)
			if got := p.usual("qmclone", now); got != 4*time.Second {
				t.Fatalf("at the same instant it is %v already", got)
			}
		}
		got := p.usual("qmclone", now.Add(1))
		if want == 0 {
			want = got
		}
		if got != want {
			t.Fatalf("%v in one order and %v in another", want, got)
		}
	}
}
