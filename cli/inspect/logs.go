package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// taskLogs is one call of logs.
type taskLogs struct {
	target.Target
	follow bool
	tasks  int
	tail   int
}

// NewLogs returns the command `proxplane logs`.
func NewLogs(u *ui.UI) *cobra.Command {
	l := &taskLogs{}
	cmd := &cobra.Command{
		Use:   "logs TASK|vm/NAME",
		Short: "Print the log of a task, or of a machine's last tasks",
		Long: `Print the log that Proxmox keeps of a task, named by its UPID as "proxplane get tasks
-o wide" shows it, or of the last tasks of a machine, the newest at the end. A clone
is filed under the machine that was copied.

With --follow, go on while the task runs, and print further lines as they come; for a
machine also those of tasks that begin later, until Ctrl-C. The exit status is 1 when
a task that was named, or followed until its end, has failed.`,
		Example: `  proxplane logs vm/web-1
  proxplane logs vm/web-1 --follow
  proxplane logs vm/web-1 --tasks 10 --tail 20
  proxplane logs UPID:pve1:0003A8A1:00D9F2C4:6554A1B2:qmstart:101:root@pam:`,
		Args:              command.Takes(1, 1),
		ValidArgsFunction: l.CompleteKinds(u, "vm"),
		RunE:              func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), u, args[0]) },
	}
	l.Flags(cmd, false)
	cmd.Flags().BoolVarP(&l.follow, "follow", "F", false, "keep printing new lines")
	cmd.Flags().IntVar(&l.tasks, "tasks", 3, "how many of a machine's last tasks; a `NUMBER`")
	cmd.Flags().IntVar(&l.tail, "tail", 0, "only the last `NUMBER` of lines of each task (default: all)")
	return cmd
}

func (l *taskLogs) run(ctx context.Context, u *ui.UI, what string) error {
	if l.tasks < 1 || l.tail < 0 {
		return fmt.Errorf("--tasks %d, --tail %d: want numbers from 1 on", l.tasks, l.tail)
	}
	c, err := l.Site(u, what)
	if err != nil {
		return err
	}
	if strings.HasPrefix(what, "UPID:") {
		upid, err := pve.ParseUPID(what)
		if err != nil {
			return ui.Advise(err, "proxplane get tasks -o wide shows the UPIDs of tasks.")
		}
		return l.print(ctx, u, c, upid)
	}
	return l.ofMachine(ctx, u, c, what)
}

// logPause is how long to wait before a log is read again.
const logPause = time.Second

// print prints the log of a task, until its end if that is asked for.
func (l *taskLogs) print(ctx context.Context, u *ui.UI, c *target.Site, upid pve.UPID) error {
	task := c.Client.Task(upid)
	if l.tail > 0 && !l.follow {
		lines, err := task.LogTail(ctx, l.tail)
		if err != nil {
			return c.Fail(err)
		}
		printLines(u, lines)
		return l.outcome(ctx, c, task)
	}
	printed := 0
	for {
		// Whether it runs is asked first: what it writes until then is in the log.
		s, err := task.Status(ctx)
		if err != nil {
			return c.Fail(fmt.Errorf("look at task %s: %w", upid, err))
		}
		lines, err := l.rest(ctx, task, printed)
		if err != nil {
			return c.Fail(err)
		}
		printed += len(lines)
		printLines(u, lines)
		if !s.Running() || !l.follow {
			if s.Running() {
				u.Note("the task still runs; --follow goes on until it has ended")
			}
			return c.Fail(s.Err())
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(logPause):
		}
	}
}

// rest is what a log has beyond the lines that were printed.
func (l *taskLogs) rest(ctx context.Context, task pve.Task, printed int) ([]string, error) {
	var all []string
	for {
		lines, total, err := task.Log(ctx, pve.LogOptions{Start: printed + len(all), Limit: 500})
		if err != nil {
			return all, fmt.Errorf("read the log of task %s: %w", task.UPID, err)
		}
		all = append(all, lines...)
		if len(lines) == 0 || printed+len(all) >= total {
			return all, nil
		}
	}
}

func (l *taskLogs) outcome(ctx context.Context, c *target.Site, task pve.Task) error {
	s, err := task.Status(ctx)
	if err != nil {
		return c.Fail(err)
	}
	return c.Fail(s.Err())
}

// printLines writes lines to the standard output.
func printLines(u *ui.UI, lines []string) {
	for _, line := range lines {
		u.Say("%s", line)
	}
}

// ofMachine prints the logs of a machine's tasks, each below a line that says what
// it was.
func (l *taskLogs) ofMachine(ctx context.Context, u *ui.UI, c *target.Site, name string) error {
	done := map[pve.UPID]bool{}
	for first := true; ; first = false {
		tasks, err := l.tasksOf(ctx, c, name)
		if err != nil {
			return err
		}
		if first && len(tasks) == 0 {
			fmt.Fprintf(u.Err, "%s has no tasks that %s may see.\n", name, ui.Who(c.Connection.Credentials))
		}
		if more := len(tasks) - l.tasks; first && more > 0 {
			for _, t := range tasks[:more] {
				done[t.UPID] = true
			}
			tasks = tasks[more:]
		}
		for _, t := range tasks {
			if done[t.UPID] {
				continue
			}
			done[t.UPID] = true
			u.Say("%s", u.Page(u.Out).Bold(taskHeading(t, c.Client.Now())))
			if err := l.print(ctx, u, c, t.UPID); err != nil && (ctx.Err() != nil || !isTaskError(err)) {
				return err
			}
		}
		if !l.follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(logPause):
		}
	}
}

// tasksOf are the tasks of a machine on all nodes that can be asked, the oldest first.
func (l *taskLogs) tasksOf(ctx context.Context, c *target.Site, name string) ([]pve.TaskInfo, error) {
	have, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	g, err := c.Guest(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []pve.TaskInfo
	for node, n := range have.Nodes {
		if !n.Online {
			continue
		}
		tasks, _, err := c.Client.Node(node).Tasks(ctx, pve.TaskFilter{VMID: g.VMID, Source: "all", Limit: 50})
		if err != nil && node == g.Node {
			return nil, c.Fail(fmt.Errorf("list the tasks of VM %d: %w", g.VMID, err))
		}
		slices.Reverse(tasks) // the newest come first, and times are whole seconds
		all = append(all, tasks...)
	}
	slices.SortStableFunc(all, func(a, b pve.TaskInfo) int { return a.StartTime.Compare(b.StartTime) })
	return all, nil
}

// isTaskError reports whether an error is that of a task which has ended: its log
// was printed all the same.
func isTaskError(err error) bool {
	var failed *pve.TaskError
	return errors.As(err, &failed)
}

// taskHeading says what a task was: "qmstart of VM 101 on pve1, 2m ago: OK".
func taskHeading(t pve.TaskInfo, now time.Time) string {
	how := t.Status
	if t.Running() {
		how = "running"
	}
	return fmt.Sprintf("── %s of VM %s on %s, %s ago: %s", t.Type, t.ID, t.Node, status.Duration(now.Sub(t.StartTime)), how)
}
