package act

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// Tasks follows any number of tasks with one list for each node and period.
type Tasks struct {
	client  *pve.Client
	watcher *pve.Watcher
}

// Periods of looking at tasks. Young tasks are looked at often, since most of
// ours end within seconds and the next step waits for them.
const (
	watchQuick = 100 * time.Millisecond
	watchSlow  = 5 * time.Second
)

// Watch returns Tasks that follow until ctx ends.
func (a *Actor) Watch(ctx context.Context) *Tasks {
	return &Tasks{client: a.client, watcher: a.client.Watch(ctx, pve.WatchOptions{Quick: watchQuick, Slow: watchSlow})}
}

// Follow waits for the end of a task. The error is that of the task, or why its end can't
// be known.
func (t *Tasks) Follow(task string) (warnings []string, err error) {
	upid, err := pve.ParseUPID(task)
	if err != nil {
		return nil, fmt.Errorf("follow a task: %w", err)
	}
	end := <-t.watcher.Follow(upid)
	return end.Warnings, end.Err
}

// progressLines is how much of the end of a log is searched.
const progressLines = 5

// Progress reads the progress of a task that copies or fetches, as a fraction of 1. It is
// negative if its log doesn't have it.
func (t *Tasks) Progress(ctx context.Context, task string) (float64, error) {
	upid, err := pve.ParseUPID(task)
	if err != nil {
		return -1, err
	}
	lines, err := t.client.Task(upid).LogTail(ctx, progressLines)
	if err != nil {
		return -1, err
	}
	return progress(lines), nil
}

// percent is at the end of "transferred 1.0 GiB of 2.0 GiB (50.00%)" and in the
// middle of wget's " 51200K .......... .......... 12% 93.1M 4s".
var percent = regexp.MustCompile(`(\d+(?:\.\d+)?)%`)

// progress finds the newest figure in lines of a log.
func progress(lines []string) float64 {
	for i := len(lines) - 1; i >= 0; i-- {
		m := percent.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		if n, _ := strconv.ParseFloat(m[1], 64); n <= 100 { // digits are a number
			return n / 100
		}
	}
	return -1
}
