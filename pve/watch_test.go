package pve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestManyTasksAreFollowedWithOneListANodeAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		done := map[UPID]int{}
		w := c.Watch(t.Context(), WatchOptions{OnDone: func(r TaskResult) { done[r.UPID]++ }})
		var waiting []<-chan TaskResult
		for i := range 300 {
			exit := "OK"
			if i%100 == 7 {
				exit = "VM is locked (clone)"
			}
			task := s.start(fmt.Sprint("pve", i%3+1), "qmclone", i, 5*time.Second, exit)
			waiting = append(waiting, w.Follow(task.upid))
		}
		if n := w.Following(); n != 300 {
			t.Errorf("following %d", n)
		}
		for i, ch := range waiting {
			r := <-ch
			if failed := i%100 == 7; failed != errors.Is(r.Err, ErrLocked) || !failed && r.Err != nil {
				t.Errorf("task %d: %v", i, r.Err)
			}
		}
		synctest.Wait()
		if len(done) != 300 || w.Following() != 0 {
			t.Errorf("%d done, following %d", len(done), w.Following())
		}
		lists, logs := 0, 0
		for _, r := range s.requests() {
			switch {
			case strings.HasSuffix(r, "/tasks"):
				lists++
			case strings.HasSuffix(r, "/log"):
				logs++
			default:
				t.Errorf("unexpected %s", r)
			}
		}
		// Three nodes for five seconds, with periods from 200 ms on.
		if lists > 3*22 || logs != 3 {
			t.Errorf("%d lists and %d logs for 300 tasks of which 3 failed", lists, logs)
		}
		// At rest, nobody is asked anything.
		before := len(s.requests())
		time.Sleep(time.Hour)
		if after := len(s.requests()); after != before {
			t.Errorf("%d requests at rest", after-before)
		}
	})
}

func TestATaskThatFellOutOfTheListIsAskedForByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		w := c.Watch(t.Context(), WatchOptions{})
		old := s.start(taskNode, "qmclone", 1, time.Minute, "OK")
		result := w.Follow(old.upid)
		time.Sleep(59 * time.Second)
		for i := range 200 { // more than one list shows
			s.start(taskNode, "qmstart", i, 0, "OK")
		}
		if r := <-result; r.Err != nil || r.ExitStatus != "OK" {
			t.Errorf("got %+v", r)
		}
		hidden := s.start(taskNode, "qmclone", 2, 3*time.Second, "VM is locked (backup)")
		hidden.hidden = true
		if r := <-w.Follow(hidden.upid); !errors.Is(r.Err, ErrLocked) {
			t.Errorf("got %+v", r)
		}
	})
}

func TestWhereTheListIsForbiddenTasksAreAskedForOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		s.listed[taskNode] = 403
		c := client(t, virtual(s))
		w := c.Watch(t.Context(), WatchOptions{})
		a := w.Follow(s.start(taskNode, "qmclone", 1, 2*time.Second, "OK").upid)
		b := w.Follow(s.start(taskNode, "qmclone", 2, 3*time.Second, "OK").upid)
		if r := <-a; r.Err != nil {
			t.Error(r.Err)
		}
		if r := <-b; r.Err != nil {
			t.Error(r.Err)
		}
	})
}

func TestANodeThatIsAwayIsTriedOnAndShown(t *testing.T) {
	for _, status := range []int{595, 503, 401} {
		synctest.Test(t, func(t *testing.T) {
			s := newTaskServer()
			c := client(t, virtual(s))
			w := c.Watch(t.Context(), WatchOptions{})
			result := w.Follow(s.start(taskNode, "qmclone", 1, time.Second, "OK").upid)
			other := w.Follow(s.start("pve2", "qmclone", 1, time.Second, "OK").upid)
			s.set(taskNode, status)
			<-other // the others go on
			time.Sleep(10 * time.Minute)
			trouble, ok := w.Troubles()[taskNode]
			if !ok || len(w.Troubles()) != 1 || trouble.Err == nil || time.Since(trouble.Since) < 9*time.Minute {
				t.Errorf("%d: troubles are %v", status, w.Troubles())
			}
			if n := len(s.requests()); n > 10*60 {
				t.Errorf("%d: %d requests to a node that is away", status, n)
			}
			s.set(taskNode, 0)
			if r := <-result; r.Err != nil {
				t.Errorf("%d: %v", status, r.Err)
			}
			synctest.Wait()
			if len(w.Troubles()) != 0 {
				t.Errorf("%d: troubles are still %v", status, w.Troubles())
			}
		})
	}
}

func TestATaskThatIsGoneIsNotFollowedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		w := client(t, virtual(s)).Watch(t.Context(), WatchOptions{})
		task := s.start(taskNode, "qmclone", 1, time.Second, "OK")
		task.gone = true
		if r := <-w.Follow(task.upid); !errors.Is(r.Err, ErrNotFound) || errors.Is(r.Err, ErrTaskFailed) {
			t.Errorf("got %v", r.Err)
		}
		if r := <-w.Follow(UPID{}); r.Err == nil {
			t.Error("no task ended well")
		}
	})
}

func TestAYoungTaskShortensThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		w := client(t, virtual(s)).Watch(t.Context(), WatchOptions{})
		w.Follow(s.start(taskNode, "qmclone", 1, 24*time.Hour, "OK").upid)
		time.Sleep(time.Hour + time.Second) // the period is long by now
		start := time.Now()
		if r := <-w.Follow(s.start(taskNode, "qmstart", 2, 300*time.Millisecond, "OK").upid); r.Err != nil {
			t.Error(r.Err)
		}
		if took := time.Since(start); took > 800*time.Millisecond {
			t.Errorf("a task of 300 ms was noticed after %v", took)
		}
	})
}

func TestEveryoneWhoFollowsATaskIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		w := client(t, virtual(s)).Watch(t.Context(), WatchOptions{})
		task := s.start(taskNode, "qmclone", 1, time.Second, "OK")
		a, b := w.Follow(task.upid), w.Follow(task.upid)
		if (<-a).Err != nil || (<-b).Err != nil {
			t.Error("one of two wasn't told")
		}
		if r := <-w.Follow(task.upid); r.Err != nil { // after its end
			t.Error(r.Err)
		}
	})
}

func TestTheEndOfAWatcherIsToldToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		ctx, cancel := context.WithCancel(t.Context())
		w := client(t, virtual(s)).Watch(ctx, WatchOptions{})
		task := s.start(taskNode, "qmclone", 1, time.Hour, "OK")
		result := w.Follow(task.upid)
		time.Sleep(time.Minute)
		cancel()
		if r := <-result; !errors.Is(r.Err, context.Canceled) {
			t.Errorf("got %v", r.Err)
		}
		if r := <-w.Follow(task.upid); !errors.Is(r.Err, context.Canceled) {
			t.Errorf("afterwards: %v", r.Err)
		}
	})
}

func TestTasksThatGoOnStartingAreNotWorthALookEachTenthOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		w := c.Watch(t.Context(), WatchOptions{Quick: 100 * time.Millisecond})
		const nodes, rounds = 5, 60
		late := time.Duration(0)
		for i := range rounds { // one after the other, as of machines that find no room
			begun := time.Now()
			task := s.start(fmt.Sprint("pve", i%nodes+1), "qmclone", i, 1300*time.Millisecond, "OK")
			other := s.start(fmt.Sprint("pve", (i+1)%nodes+1), "qmclone", rounds+i, 1300*time.Millisecond, "OK")
			a, b := w.Follow(task.upid), w.Follow(other.upid)
			<-a
			<-b
			late = max(late, time.Since(begun)-1300*time.Millisecond)
		}
		if n := len(s.requests()); n > looksAtOnce+2*rounds*looksPerTask+3*rounds*looksPerSecond {
			t.Errorf("%d requests for %d tasks", n, 2*rounds)
		}
		if late > 2*time.Second {
			t.Errorf("a task's end was noticed %v late", late)
		}
	})
}
