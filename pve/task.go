package pve

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Task is a handle for one task.
type Task struct {
	c    *Client
	UPID UPID
}

// Task gives a handle for a task.
func (c *Client) Task(upid UPID) Task { return Task{c, upid} }

// TaskStatus is how far a task is.
type TaskStatus struct {
	UPID       UPID      `json:"upid"`
	Node       string    `json:"node"`
	PID        int       `json:"pid"`
	Type       string    `json:"type"`
	ID         string    `json:"id"`
	User       string    `json:"user"`
	TokenID    string    `json:"tokenid"`
	StartTime  time.Time `json:"starttime"`
	Status     string    `json:"status"`     // running or stopped
	ExitStatus string    `json:"exitstatus"` // when stopped: OK, WARNINGS: n, or what went wrong
}

// Running reports whether the task hasn't ended yet.
func (s TaskStatus) Running() bool { return s.Status != "stopped" }

// Err returns nil while the task runs and when it succeeded, with or without warnings. The error's
// log is empty; [Task.Wait] reads it.
func (s TaskStatus) Err() error {
	if _, ok := taskSucceeded(s.ExitStatus); s.Running() || ok {
		return nil
	}
	return exitError(s.UPID, s.ExitStatus, nil)
}

// Warnings returns the number of warnings of a task that succeeded with some.
func (s TaskStatus) Warnings() int { n, _ := taskSucceeded(s.ExitStatus); return n }

var warningsStatus = regexp.MustCompile(`^WARNINGS: (\d+)$`)

// taskSucceeded reads an exit status. Proxmox counts warnings as success.
func taskSucceeded(exitStatus string) (warnings int, ok bool) {
	if exitStatus == "OK" {
		return 0, true
	}
	m := warningsStatus.FindStringSubmatch(exitStatus)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// Status reads the task's status. A task that Proxmox doesn't know is ErrNotFound.
func (t Task) Status(ctx context.Context) (TaskStatus, error) {
	s, err := get[TaskStatus](ctx, t.c, nil, "/nodes/{node}/tasks/{upid}/status", t.UPID.Node, t.UPID)
	if err != nil {
		return TaskStatus{}, err
	}
	s.UPID = t.UPID
	t.c.core.gate.saw(t.UPID, s.Running(), s.ExitStatus)
	return s, nil
}

// Stop interrupts the task. It has succeeded also when the task had ended already.
func (t Task) Stop(ctx context.Context) error {
	return t.c.do(ctx, &request{
		method: http.MethodDelete, route: "/nodes/{node}/tasks/{upid}", args: []any{t.UPID.Node, t.UPID}, relieving: true,
	})
}

// LogOptions choose lines of a task's log.
type LogOptions struct {
	Start int `pve:"start"` // lines to leave out at the beginning
	Limit int `pve:"limit"` // lines to read; Proxmox' default is 50
}

type logLine struct {
	Text string `json:"t"`
}

// Log reads lines of the task's log, and says how many there are in all.
func (t Task) Log(ctx context.Context, opts LogOptions) (lines []string, total int, err error) {
	var page []logLine
	err = t.c.do(ctx, &request{
		method: http.MethodGet, route: "/nodes/{node}/tasks/{upid}/log", args: []any{t.UPID.Node, t.UPID},
		params: opts, out: &page, total: &total,
	})
	for _, line := range page {
		lines = append(lines, scrub(line.Text, nil))
	}
	return lines, total, err
}

const logPage = 500

// FullLog reads the whole log, page by page.
func (t Task) FullLog(ctx context.Context) ([]string, error) {
	var all []string
	for {
		lines, total, err := t.Log(ctx, LogOptions{Start: len(all), Limit: logPage})
		if err != nil {
			return all, fmt.Errorf("log of task %s: %w", t.UPID, err)
		}
		all = append(all, lines...)
		if len(lines) == 0 || len(all) >= total {
			return all, nil
		}
	}
}

// LogTail reads the last n lines of the log.
func (t Task) LogTail(ctx context.Context, n int) ([]string, error) {
	lines, total, err := t.Log(ctx, LogOptions{Limit: max(n, logPage)})
	if err == nil && total > len(lines) {
		lines, _, err = t.Log(ctx, LogOptions{Start: max(0, total-n), Limit: n})
	}
	if err != nil {
		return nil, fmt.Errorf("log of task %s: %w", t.UPID, err)
	}
	return lines[max(0, len(lines)-n):], nil
}

// TaskInfo is an entry of a list of tasks.
type TaskInfo struct {
	UPID      UPID      `json:"upid"`
	Node      string    `json:"node"`
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	User      string    `json:"user"`
	TokenID   string    `json:"tokenid"`
	StartTime time.Time `json:"starttime"`
	EndTime   time.Time `json:"endtime"`
	Status    string    `json:"status"` // RUNNING, OK, WARNINGS: n, or what went wrong
}

// Running reports whether the task hasn't ended yet.
func (t TaskInfo) Running() bool {
	return t.EndTime.IsZero() && (t.Status == "" || strings.EqualFold(t.Status, "running"))
}

// Err returns nil while the task runs and when it succeeded.
func (t TaskInfo) Err() error {
	if _, ok := taskSucceeded(t.Status); ok || t.Running() {
		return nil
	}
	return exitError(t.UPID, t.Status, nil)
}

// TaskFilter chooses tasks of a node. Proxmox shows tasks of others only to those who have
// Sys.Audit on the node.
type TaskFilter struct {
	Source string    `pve:"source"` // archive (Proxmox' default), active or all
	VMID   int       `pve:"vmid"`   // clones are filed under their source
	Type   string    `pve:"typefilter"`
	User   string    `pve:"userfilter"`
	Status []string  `pve:"statusfilter"` // ok, warning, error, unknown
	Errors bool      `pve:"errors"`
	Since  time.Time `pve:"since"` // by the node's clock
	Until  time.Time `pve:"until"`
	Start  int       `pve:"start"`
	Limit  int       `pve:"limit"` // Proxmox' default is 50
}

// Tasks lists tasks of the node, and says how many match in all.
func (n Node) Tasks(ctx context.Context, filter TaskFilter) (tasks []TaskInfo, total int, err error) {
	err = n.c.do(ctx, &request{
		method: http.MethodGet, route: "/nodes/{node}/tasks", args: []any{n.Name},
		params: filter, out: &tasks, total: &total,
	})
	for _, task := range tasks {
		n.c.core.gate.saw(task.UPID, task.Running(), task.Status)
	}
	return tasks, total, err
}
