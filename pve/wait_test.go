package pve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitingForATask(t *testing.T) {
	for _, c := range []struct {
		exit     string
		log      []string
		kind     Kind // empty: success
		warnings []string
	}{
		{exit: "OK"},
		{exit: "WARNINGS: 2", log: []string{"a", "WARN: disk is slow", "b", "WARN: really", "TASK WARNINGS: 2"}, warnings: []string{"disk is slow", "really"}},
		{exit: "WARNINGS: 1", warnings: []string{"WARNINGS: 1"}},
		{exit: "VM is locked (backup)", log: []string{"TASK ERROR: VM is locked (backup)"}, kind: ErrLocked},
		{exit: "WARNINGS: many", kind: ErrUnknown},
		{exit: "unexpected status", kind: ErrInterrupted},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newTaskServer()
			cl := client(t, virtual(s))
			task := s.start(taskNode, "qmclone", 100, 3*time.Second, c.exit)
			task.log = c.log
			result, err := cl.Task(task.upid).Wait(t.Context())
			if result.ExitStatus != c.exit || !slices.Equal(result.Warnings, c.warnings) {
				t.Errorf("%q: got %+v", c.exit, result)
			}
			var failed *TaskError
			switch {
			case c.kind == "":
				if err != nil || result.Err != nil {
					t.Errorf("%q: %v", c.exit, err)
				}
			case !errors.Is(err, c.kind) || !errors.Is(err, ErrTaskFailed) || !errors.As(err, &failed):
				t.Errorf("%q: got %v", c.exit, err)
			case failed.UPID != task.upid || failed.ExitStatus != c.exit || !slices.Equal(failed.Log, c.log):
				t.Errorf("%q: got %+v", c.exit, failed)
			}
		})
	}
}

func TestDetailsOfAnExitStatusAreFound(t *testing.T) {
	err := fmt.Errorf("make web-1: %w", exitError(UPID{Type: "qmclone", ID: "100", Node: "pve1"}, "clone failed: VM is locked (backup)", nil))
	var e *Error
	if !errors.As(err, &e) || e.Lock != "backup" {
		t.Errorf("got %+v", e)
	}
	if want := "make web-1: task qmclone 100 on pve1 failed: clone failed: VM is locked (backup)"; err.Error() != want {
		t.Errorf("got %q", err)
	}
}

func TestShortTasksAreNoticedQuicklyAndLongOnesCostLittle(t *testing.T) {
	for _, lasts := range []time.Duration{
		300 * time.Millisecond, time.Second, 2 * time.Second, 30 * time.Second, 10 * time.Minute, 2 * time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newTaskServer()
			c := client(t, virtual(s))
			task := s.start(taskNode, "qmclone", 100, lasts, "OK")
			start := time.Now()
			if _, err := c.Task(task.upid).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			late, calls := time.Since(start)-lasts, len(s.requests())
			if late > max(210*time.Millisecond, min(lasts/7, 5010*time.Millisecond)) {
				t.Errorf("%v: noticed %v late", lasts, late)
			}
			if most := 50 + int(lasts/pollSlow); calls > most {
				t.Errorf("%v: %d calls, more than %d", lasts, calls, most)
			}
		})
	}
}

func TestWaitingGoesOnWhileTheNodeIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		task := s.start(taskNode, "qmclone", 100, time.Minute, "OK")
		s.set(taskNode, 595)
		go func() {
			time.Sleep(5 * time.Minute)
			s.set(taskNode, 0)
		}()
		if _, err := c.Task(task.upid).Wait(t.Context()); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestWaitingEndsWithAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		task := s.start(taskNode, "qmclone", 100, time.Hour, "OK")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Task(task.upid).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("out of patience: %v", err)
		}
		s.set(taskNode, 595)
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Task(task.upid).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNodeUnreachable) {
			t.Errorf("out of patience while the node is away: %v", err)
		}
		s.set(taskNode, 0)
		task.gone = true
		if _, err := c.Task(task.upid).Wait(t.Context()); !errors.Is(err, ErrNotFound) || errors.Is(err, ErrTaskFailed) {
			t.Errorf("a task that is gone: %v", err)
		}
		s.set(taskNode, 401)
		if _, err := c.Task(task.upid).Wait(t.Context()); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("credentials that are no good: %v", err)
		}
	})
}

func TestALongLogIsReadByPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer()
		c := client(t, virtual(s))
		task := s.start(taskNode, "qmclone", 100, 0, "OK")
		task.log = nil
		for i := range 1234 {
			task.log = append(task.log, fmt.Sprint("line ", i))
		}
		log, err := c.Task(task.upid).FullLog(t.Context())
		if err != nil || !slices.Equal(log, task.log) || len(s.requests()) != 3 {
			t.Errorf("%d lines in %d calls, %v", len(log), len(s.requests()), err)
		}
		tail, err := c.Task(task.upid).LogTail(t.Context(), 20)
		if err != nil || !slices.Equal(tail, task.log[1214:]) {
			t.Errorf("tail: %v, %v", tail, err)
		}
		page, total, err := c.Task(task.upid).Log(t.Context(), LogOptions{Start: 1230, Limit: 10})
		if err != nil || total != 1234 || strings.Join(page, ",") != "line 1230,line 1231,line 1232,line 1233" {
			t.Errorf("page: %v of %d, %v", page, total, err)
		}
	})
}
