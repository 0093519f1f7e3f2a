package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// eventing is one call of events.
type eventing struct {
	target.Target
	watch  bool
	every  time.Duration
	output string
	failed bool
	began  bool // the tasks were read before
	all    bool // the cluster's list shows the tasks of all
}

// event is something that happened in the cluster. Its field names stay.
type event struct {
	Time    time.Time `json:"time"`
	Node    string    `json:"node"`
	Source  string    `json:"source"` // task or log
	Object  string    `json:"object,omitempty"`
	User    string    `json:"user,omitempty"`
	Level   string    `json:"level"` // info, warning or error
	Message string    `json:"message"`
	UPID    string    `json:"upid,omitempty"`
}

// NewEvents returns the command `proxplane events`.
func NewEvents(u *ui.UI) *cobra.Command {
	e := &eventing{}
	cmd := &cobra.Command{
		Use:   "events [vm/NAME…]",
		Short: "Show recent events of the cluster",
		Long: `Show recent events, the newest at the end: the cluster's tasks, whoever started
them, and the lines of its log. With names of machines, only their events.

The login must be allowed to see them: tasks of others need Sys.Audit.`,
		Example: `  proxplane events
  proxplane events --watch
  proxplane events vm/web-1
  proxplane events --failed -o json`,
		ValidArgsFunction: e.CompleteKinds(u, "vm"),
		RunE:              func(cmd *cobra.Command, args []string) error { return e.run(cmd.Context(), u, args) },
	}
	e.Flags(cmd, false)
	fs := cmd.Flags()
	fs.BoolVarP(&e.watch, "watch", "w", false, "keep running, and show new events")
	fs.DurationVar(&e.every, "interval", 2*time.Second, "how often --watch looks; a `TIME`")
	fs.BoolVar(&e.failed, "failed", false, "only failures")
	fs.StringVarP(&e.output, "output", "o", "", "`FORMAT`: json, one event a line")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (e *eventing) run(ctx context.Context, u *ui.UI, names []string) error {
	if err := command.CheckOutput(e.output, "json"); err != nil {
		return err
	}
	if e.every <= 0 {
		return errors.New("--interval must be more than 0")
	}
	c, err := e.Site(u)
	if err != nil {
		return err
	}
	shown := map[event]bool{}
	away := outage{u: u}
	for first := true; ; {
		list, err := e.read(ctx, c, names)
		switch {
		case err == nil:
			away.over()
			if err := e.show(u, ui.Who(c.Connection.Credentials), list, shown, first); err != nil {
				return err
			}
			first = false
		case first || ctx.Err() != nil || !away.bears(err):
			return err
		}
		if !e.watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(e.every):
		}
	}
}

// mostLogLines is how many lines of the cluster's log are read.
const mostLogLines = 200

// read reads all events, the oldest first.
func (e *eventing) read(ctx context.Context, c *target.Site, names []string) ([]event, error) {
	have, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	only := map[int]bool{}
	if len(names) > 0 {
		guests, err := c.Guests(ctx, names...)
		if err != nil {
			return nil, err
		}
		for _, g := range guests {
			only[g.VMID] = true
		}
	}
	tasks, err := e.tasks(ctx, c, have)
	if err != nil {
		return nil, c.Fail(err)
	}
	var list []event
	for _, t := range tasks {
		id, _ := strconv.Atoi(t.ID)
		if len(only) == 0 || only[id] {
			list = append(list, taskEvent(t, have))
		}
	}
	if len(only) == 0 {
		lines, err := c.Client.Cluster().Log(ctx, mostLogLines)
		if err != nil && !errors.Is(err, pve.ErrForbidden) {
			return nil, c.Fail(fmt.Errorf("read the cluster's log: %w", err))
		}
		for _, l := range lines {
			if !strings.Contains(l.Message, "UPID:") { // tasks are there already
				list = append(list, logEvent(l))
			}
		}
	}
	if e.failed {
		list = slices.DeleteFunc(list, func(ev event) bool { return ev.Level == "info" })
	}
	slices.SortStableFunc(list, func(a, b event) int { return a.Time.Compare(b.Time) })
	return list, nil
}

// tasks are the last tasks. Those that have been read from the nodes once are read from there
// again only for credentials that the cluster's list doesn't show them to.
func (e *eventing) tasks(ctx context.Context, c *target.Site, have *model.Observed) ([]pve.TaskInfo, error) {
	if !e.began {
		rights, err := c.Client.Access().Permissions(ctx, "", "/")
		e.began, e.all = true, err == nil && rights["/"]["Sys.Audit"]
		return tasksOf(ctx, c, have)
	}
	if !e.all {
		return tasksOf(ctx, c, have)
	}
	tasks, err := c.Client.Cluster().Tasks(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the tasks of the cluster: %w", err)
	}
	return tasks, nil
}

// taskEvent is a task that runs, or how it ended.
func taskEvent(t pve.TaskInfo, have *model.Observed) event {
	ev := event{Time: t.StartTime, Node: t.Node, Source: "task", User: t.User, Level: "info", UPID: t.UPID.String(), Message: t.Type + ": running"}
	if id, err := strconv.Atoi(t.ID); err == nil && id > 0 {
		ev.Object = "vm/" + t.ID
		if g := have.Guests[id]; g != nil && !target.Nameless(g) {
			ev.Object = "vm/" + g.Name
		}
	} else {
		ev.Object = t.ID
	}
	if t.Running() {
		return ev
	}
	if !t.EndTime.IsZero() {
		ev.Time = t.EndTime
	}
	ev.Message = fmt.Sprintf("%s: %s", t.Type, t.Status)
	if took := t.EndTime.Sub(t.StartTime); took > 0 {
		ev.Message += ", took " + status.Duration(took)
	}
	switch {
	case t.Err() != nil:
		ev.Level = "error"
	case strings.HasPrefix(t.Status, "WARNINGS"):
		ev.Level = "warning"
	}
	return ev
}

// Severities of syslog.
const (
	severityError   = 3
	severityWarning = 4
)

func logEvent(l pve.LogEntry) event {
	ev := event{Time: l.Time, Node: l.Node, Source: "log", Object: l.Tag, User: l.User, Level: "info", Message: l.Message}
	switch {
	case l.Priority <= severityError:
		ev.Level = "error"
	case l.Priority == severityWarning:
		ev.Level = "warning"
	}
	return ev
}

// show writes the events that weren't shown before.
func (e *eventing) show(u *ui.UI, who string, list []event, shown map[event]bool, first bool) error {
	t := status.Table{Columns: []status.Column{
		{Name: "TIME"}, {Name: "NODE"}, {Name: "OBJECT", Flex: true, Ends: true}, {Name: "USER"}, {Name: "LEVEL"}, {Name: "MESSAGE"},
	}}
	for _, ev := range list {
		if shown[ev] {
			continue
		}
		shown[ev] = true
		if e.output == "json" {
			if err := ui.WriteLine(u.Out, ev); err != nil {
				return err
			}
			continue
		}
		t.Rows = append(t.Rows, []string{ev.Time.Local().Format("01-02 15:04:05"), ev.Node, ev.Object, ev.User, ev.Level, ev.Message})
	}
	if e.output == "json" {
		return nil
	}
	if first && len(t.Rows) == 0 && !e.watch {
		fmt.Fprintf(u.Err, "There are no such events that %s may see.\n", who)
		return nil
	}
	l := u.Layout(false)
	l.Heading = first
	_, err := io.WriteString(u.Out, t.Text(l))
	return err
}
