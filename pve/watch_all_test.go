package pve

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// followed follows a task of each of some nodes, one type of task after the other, and returns how many requests that took and how late the
// last end was noticed.
func followed(t *testing.T, s *taskServer, nodes, each int, takes time.Duration) (requests int, late time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := client(t, virtual(s)).Watch(t.Context(), WatchOptions{Quick: 100 * time.Millisecond})
		for _, kind := range []string{"qmclone", "qmconfig", "qmstart"} {
			begun := time.Now()
			var all []<-chan TaskResult
			for i := range nodes * each {
				exit := "OK"
				if i == 1 {
					exit = "VM is locked (clone)"
				}
				all = append(all, w.Follow(s.start(fmt.Sprint("pve", i%nodes+1), kind, i, takes, exit).upid))
			}
			for i, one := range all {
				if r := <-one; errors.Is(r.Err, ErrLocked) != (i == 1) || i != 1 && r.Err != nil {
					t.Errorf("task %d: %v", i, r.Err)
				}
			}
			late = max(late, time.Since(begun)-takes)
		}
		synctest.Wait()
		if n := w.Following(); n != 0 {
			t.Errorf("still following %d", n)
		}
	})
	return len(s.requests()), late
}

// One list shows the tasks of several nodes.
func TestTasksOfSeveralNodesTakeLittleMoreThanThoseOfOne(t *testing.T) {
	one, late := followed(t, newTaskServer(), 1, 4, 2*time.Second)
	five, later := followed(t, newTaskServer(), 5, 4, 2*time.Second)
	if five > one*2 {
		t.Errorf("%d requests for one node and %d for five", one, five)
	}
	if later > late+50*time.Millisecond {
		t.Errorf("ends on one node were noticed %v late, and on five %v", late, later)
	}
}

// The list may be late, lack tasks or not be there at all: each node is asked itself then.
func TestAListOfTheClusterThatIsNotGoodEnough(t *testing.T) {
	for _, c := range []struct {
		reason string
		set    func(*taskServer)
		each   int
		late   time.Duration
	}{
		{"ends show late in it", func(s *taskServer) { s.late = time.Hour }, 4, listTrust + 200*time.Millisecond},
		{"it shows no tasks to these credentials", func(s *taskServer) { s.unseen = true }, 4, 400 * time.Millisecond},
		{"it can't be read", func(s *taskServer) { s.all = 500 }, 4, 400 * time.Millisecond},
		{"more tasks run on each node than it shows", func(*taskServer) {}, 40, 400 * time.Millisecond},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := newTaskServer()
			c.set(s)
			n, late := followed(t, s, 3, c.each, 2*time.Second)
			if late > c.late {
				t.Errorf("an end was noticed %v late", late)
			}
			alone, _ := followed(t, newTaskServer(), 1, c.each, 2*time.Second)
			if n > 3*alone+6 {
				t.Errorf("%d requests, and %d for each node alone", n, alone)
			}
		})
	}
}

// The list of the cluster may go on saying that the tasks of a node run which is away.
func TestANodeIsAskedItselfFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		w := client(t, virtual(s)).Watch(t.Context(), WatchOptions{})
		w.Follow(s.start("pve1", "qmclone", 1, time.Hour, "OK").upid)
		w.Follow(s.start("pve2", "qmclone", 2, time.Hour, "OK").upid)
		s.set("pve1", 595)
		time.Sleep(10 * time.Second)
		if _, ok := w.Troubles()["pve1"]; !ok || len(w.Troubles()) != 1 {
			t.Errorf("troubles are %v", w.Troubles())
		}
	})
}
