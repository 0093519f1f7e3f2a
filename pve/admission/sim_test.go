package admission_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

// A storage stands in for one of Proxmox: work needs its lock for a while, of
// which it has cap, and gives up when it can't have it within patience. Then the
// work goes on without the lock.
type storage struct {
	lock     chan struct{} // nil: no lock needed
	patience time.Duration
	locked   func(r *rand.Rand) time.Duration
	unlocked func(r *rand.Rand) time.Duration
}

func about(d time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		return d*4/5 + time.Duration(r.Int64N(int64(d)*2/5+1))
	}
}

func (s *storage) work(r *rand.Rand, w *work) admission.Outcome {
	defer close(w.ended)
	if s.lock != nil {
		giveUp := time.NewTimer(s.patience)
		defer giveUp.Stop()
		select {
		case s.lock <- struct{}{}:
		case <-giveUp.C:
			return admission.Outcome{LockTimeout: true}
		}
		close(w.through)
		time.Sleep(s.locked(r))
		<-s.lock
	} else {
		close(w.through)
	}
	if s.unlocked != nil {
		time.Sleep(s.unlocked(r))
	}
	return admission.Outcome{}
}

// work is a job under way.
type work struct {
	n              int
	slot           *admission.Slot
	since          time.Time
	through, ended chan struct{} // closed
}

// scout looks at the last jobs under way as long as that lets more in, as
// those do who read what tasks log.
func (res *run) scout(lim *admission.Limiter, over <-chan struct{}) {
	const quick, slow = 25 * time.Millisecond, time.Minute
	for pause := quick; ; pause = min(2*pause, slow) {
		select {
		case <-over:
			return
		case <-time.After(pause):
		}
		if some, among := res.last(5); among > 0 && lim.Searching(cloneKey) {
			watch(some, among)
			pause = quick
		}
	}
}

// last are the n jobs that were begun last.
func (res *run) last(n int) (some []*work, among int) {
	res.mu.Lock()
	defer res.mu.Unlock()
	some = slices.SortedFunc(maps.Keys(res.working), func(a, b *work) int { return b.n - a.n })
	return some[:min(n, len(some))], len(some)
}

func watch(some []*work, among int) {
	for _, w := range some {
		select {
		case <-w.through:
			continue
		default:
		}
		select {
		case <-w.through:
			w.slot.Saw(admission.Sight{Among: among, Waited: time.Since(w.since), Through: true})
		case <-w.ended:
		case <-time.After(4 * time.Second):
			w.slot.Saw(admission.Sight{Among: among, Waited: time.Since(w.since)})
		}
		return
	}
	some[0].slot.Saw(admission.Sight{Among: among, Through: true})
}

var cloneKey = admission.Key{Node: "pve1", Storage: "nfs", Op: "clone", Later: true}

// A run is a number of jobs that all want to be done at once, each repeated until
// it succeeds.
type run struct {
	mu       sync.Mutex
	timeouts int           // in all
	late     int           // after the first half was done
	done     int           // jobs
	took     time.Duration // until all were done
	begun    int
	working  map[*work]bool
}

func (s *storage) run(lim *admission.Limiter, jobs int, seed uint64) *run {
	res := &run{working: map[*work]bool{}}
	start := time.Now()
	over := make(chan struct{})
	defer close(over)
	go res.scout(lim, over)
	var wg sync.WaitGroup
	for i := range jobs {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for {
				slot, err := lim.Acquire(context.Background(), cloneKey, admission.Write)
				if err != nil {
					panic(err)
				}
				w := &work{slot: slot, since: time.Now(), through: make(chan struct{}), ended: make(chan struct{})}
				res.mu.Lock()
				res.begun++
				w.n = res.begun
				res.working[w] = true
				res.mu.Unlock()
				out := s.work(r, w)
				slot.Release(out)
				res.mu.Lock()
				delete(res.working, w)
				if out.LockTimeout {
					res.timeouts++
					if res.done > jobs/2 {
						res.late++
					}
					res.mu.Unlock()
					continue
				}
				res.done++
				res.mu.Unlock()
				return
			}
		})
	}
	wg.Wait()
	res.took = time.Since(start)
	return res
}

func usageOf(lim *admission.Limiter, storage string) admission.Usage {
	for _, u := range lim.Snapshot() {
		if u.Class == admission.Write && u.Storage == storage {
			return u
		}
	}
	return admission.Usage{}
}

func limitOf(lim *admission.Limiter, storage string) int { return usageOf(lim, storage).Limit }
func inUseOf(lim *admission.Limiter, storage string) int { return usageOf(lim, storage).InUse }

// report fails the test unless the run had at least 90 % of the throughput of
// somebody who knows the storage, and few lock timeouts: those that were let in
// before anything was known, and then one in 15 at most.
func (res *run) report(t *testing.T, jobs int, ideal time.Duration) {
	t.Helper()
	t.Logf("took %v, ideal %v (%.0f %%), %d timeouts, %d of them late", res.took, ideal, 100*ideal.Seconds()/res.took.Seconds(), res.timeouts, res.late)
	if res.took.Seconds() > ideal.Seconds()/0.9 {
		t.Errorf("took %v, want at most a ninth more than %v", res.took, ideal)
	}
	if most := 8 + jobs/20; res.timeouts > most {
		t.Errorf("%d timeouts, want at most %d", res.timeouts, most)
	}
	if most := jobs / 2 / 15; res.late > most {
		t.Errorf("%d timeouts in the second half, want at most %d", res.late, most)
	}
}

func TestFindsTheWidthOfAStorageThatServesFourAtATime(t *testing.T) {
	cases := []struct {
		each time.Duration
		most int // more than four may wait for short work without giving up
	}{
		{each: 1 * time.Second, most: 16},
		{each: 2 * time.Second, most: 16},
		{each: 3 * time.Second, most: 16},
		{each: 5 * time.Second, most: 16},
		{each: 8 * time.Second, most: 16},
		{each: 12 * time.Second, most: 8},
		{each: 30 * time.Second, most: 5},
		{each: 4 * time.Minute, most: 5},
	}
	const jobs = 600
	for _, c := range cases {
		t.Run(c.each.String(), func(t *testing.T) {
			for seed := range uint64(8) {
				synctest.Test(t, func(t *testing.T) {
					lim := admission.New(admission.Config{})
					s := &storage{lock: make(chan struct{}, 4), patience: 10 * time.Second, locked: about(c.each)}
					res := s.run(lim, jobs, seed)
					res.report(t, jobs, jobs*c.each/4)
					if c.each <= 2*time.Second && res.timeouts > 0 {
						t.Errorf("%d timeouts, though the first few can't time out yet", res.timeouts)
					}
					if got := limitOf(lim, "nfs"); got < 4 || got > c.most {
						t.Errorf("limit %d at the end, want 4 to %d", got, c.most)
					}
				})
			}
		})
	}
}

func TestFindsTheWidthOfAStorageWithOneShortLock(t *testing.T) {
	const jobs = 600
	for _, each := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(each.String(), func(t *testing.T) {
			for seed := range uint64(8) {
				synctest.Test(t, func(t *testing.T) {
					lim := admission.New(admission.Config{})
					s := &storage{lock: make(chan struct{}, 1), patience: 10 * time.Second, locked: about(each), unlocked: about(5 * time.Second)}
					s.run(lim, jobs, seed).report(t, jobs, jobs*each+5*time.Second)
				})
			}
		})
	}
}

func TestAHundredClonesToAFastStorageAreNotSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := admission.New(admission.Config{})
		s := &storage{unlocked: func(*rand.Rand) time.Duration { return 30 * time.Second }}
		if res := s.run(lim, 100, 1); res.took > 30*time.Second+200*time.Millisecond {
			t.Errorf("took %v, want 30s as if there were no bounds, and a moment for looking", res.took)
		}
	})
}

func TestAStorageWithoutTroubleIsOpenedToTheMax(t *testing.T) {
	durations := map[string]func(*rand.Rand) time.Duration{
		"alike":   about(30 * time.Second),
		"unequal": func(r *rand.Rand) time.Duration { return time.Second << r.IntN(10) },
	}
	for name, d := range durations {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				synctest.Test(t, func(t *testing.T) {
					lim := admission.New(admission.Config{})
					s := &storage{unlocked: d}
					s.run(lim, 5000, seed)
					if got := limitOf(lim, "nfs"); got != 512 {
						t.Errorf("limit %d at the end, want the maximum, 512", got)
					}
				})
			}
		})
	}
}

func TestNarrowsWhenWorkSlowsDownAndWidensAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := admission.New(admission.Config{})
		s := &storage{unlocked: about(10 * time.Second)}
		good := s.unlocked
		s.run(lim, 500, 1)
		if got := limitOf(lim, "nfs"); got < 128 {
			t.Fatalf("limit %d in good times, want 128 or more", got)
		}
		// More than 16 at once hinder each other, so that all together get less
		// done than 16 would.
		s.unlocked = func(r *rand.Rand) time.Duration {
			over := max(1, float64(inUseOf(lim, "nfs"))/16)
			return time.Duration(float64(good(r)) * over * over)
		}
		s.run(lim, 4000, 2)
		bad := limitOf(lim, "nfs")
		if bad < 12 || bad > 28 {
			t.Errorf("limit %d where 16 would be best, want 12 to 28", bad)
		}
		s.unlocked = good
		s.run(lim, 2000, 3)
		if got := limitOf(lim, "nfs"); got < 128 {
			t.Errorf("limit %d in good times again, from %d in bad ones, want 128 or more", got, bad)
		}
	})
}

func TestSlownessThatStaysIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := admission.New(admission.Config{})
		s := &storage{unlocked: about(10 * time.Second)}
		s.run(lim, 500, 1)
		s.unlocked = about(2 * time.Minute) // however few at once
		s.run(lim, 2000, 2)
		if got := limitOf(lim, "nfs"); got < 32 {
			t.Errorf("limit %d, though narrowness doesn't help, want 32 or more", got)
		}
	})
}

func TestRecoversAfterAPhaseOfLockTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := admission.New(admission.Config{})
		s := &storage{lock: make(chan struct{}, 1000), patience: 10 * time.Second, locked: about(30 * time.Second)}
		for range cap(s.lock) { // a backup holds the storage
			s.lock <- struct{}{}
		}
		over := time.AfterFunc(10*time.Minute, func() {
			for range cap(s.lock) {
				<-s.lock
			}
		})
		defer over.Stop()
		res := s.run(lim, 400, 1)
		if res.timeouts > 400 {
			t.Errorf("%d timeouts, want no more than there are jobs", res.timeouts)
		}
		if res.took > 10*time.Minute+20*30*time.Second {
			t.Errorf("took %v, want at most twenty rounds after the bad phase", res.took)
		}
		s.run(lim, 400, 2)
		if got := limitOf(lim, "nfs"); got < 100 {
			t.Errorf("limit %d after a good phase, want 100 or more", got)
		}
	})
}
