package pve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// TaskResult is how a task ended.
type TaskResult struct {
	UPID       UPID
	ExitStatus string
	Warnings   []string // of a task that succeeded with warnings
	Err        error    // nil, or a *TaskError
}

const (
	pollQuick = 200 * time.Millisecond
	pollSlow  = 5 * time.Second
	tailLines = 20
)

// pollDelay is how long to wait before the next look at a task of this age: short tasks are
// noticed quickly, long ones cost few calls, and neither is seen more than a twelfth of its
// duration late.
func pollDelay(age, quick, slow time.Duration) time.Duration {
	return min(max(age/12, quick), slow)
}

// Wait follows the task until it ends. The error is a *TaskError when the task failed; success
// with warnings is no error. While Proxmox or the node is away, Wait goes on trying; the end of
// ctx ends the waiting, not the task. To wait for many tasks at once, use a [Watcher].
func (t Task) Wait(ctx context.Context) (TaskResult, error) {
	clock := t.c.core.cfg.Clock
	start := clock.Now()
	for {
		status, err := t.Status(ctx)
		switch {
		case err == nil && !status.Running():
			result := t.c.finish(ctx, t.UPID, status.ExitStatus)
			return result, result.Err
		case err != nil && !passing(err):
			return TaskResult{UPID: t.UPID}, fmt.Errorf("wait for task %s: %w", t.UPID, err)
		case err != nil:
			t.c.core.cfg.Logger.Warn("pve: task can't be looked at, trying on", "task", t.UPID, "error", err)
		}
		if ended := sleep(ctx, clock, pollDelay(clock.Now().Sub(start), pollQuick, pollSlow)); ended != nil {
			if err != nil && !errors.Is(err, ended) {
				ended = fmt.Errorf("%w; last try: %w", ended, err)
			}
			return TaskResult{UPID: t.UPID}, fmt.Errorf("wait for task %s: %w", t.UPID, ended)
		}
	}
}

// passing reports whether an error of a read is likely to go away by itself.
func passing(err error) bool {
	return errors.Is(err, ErrConnection) || errors.Is(err, ErrNodeUnreachable) ||
		errors.Is(err, ErrLockTimeout) || errors.Is(err, ErrTimeout)
}

// finish makes the result of a task that ended. What its log has to add is read if possible.
func (c *Client) finish(ctx context.Context, upid UPID, exitStatus string) TaskResult {
	result := TaskResult{UPID: upid, ExitStatus: exitStatus}
	warnings, ok := taskSucceeded(exitStatus)
	switch {
	case !ok:
		// The error stands without the log: it isn't worth another error.
		tail, _ := c.Task(upid).LogTail(ctx, tailLines)
		result.Err = exitError(upid, exitStatus, tail)
	case warnings > 0:
		log, _ := c.Task(upid).FullLog(ctx)
		result.Warnings = warningsIn(log)
		if len(result.Warnings) == 0 {
			result.Warnings = []string{exitStatus}
		}
	}
	return result
}

// warningsIn are the warnings in lines of a log.
func warningsIn(log []string) []string {
	var list []string
	for _, line := range log {
		if text, found := strings.CutPrefix(line, "WARN: "); found {
			list = append(list, text)
		}
	}
	return list
}
