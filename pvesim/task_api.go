package pvesim

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// taskRoutes are the tasks of a node.
func taskRoutes() map[string]handler {
	return map[string]handler{
		"GET /nodes/{node}/tasks":               listTasks,
		"GET /nodes/{node}/tasks/{upid}":        taskIndex,
		"DELETE /nodes/{node}/tasks/{upid}":     stopTask,
		"GET /nodes/{node}/tasks/{upid}/log":    taskLog,
		"GET /nodes/{node}/tasks/{upid}/status": taskStatus,
		"GET /cluster/tasks":                    clusterTasks,
	}
}

// stopWait is how long a stopped task is waited for.
const stopWait = 5 * time.Second

var upidText = regexp.MustCompile(`^UPID:([a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$`)

// owns reports whether the task is of who asks. A token sees its own tasks,
// a user those of its tokens as well.
func (t *TaskInfo) owns(who *access.Identity) bool {
	name := who.Name()
	return t.User == name || !who.Token() && strings.HasPrefix(t.User, name+"!")
}

// entry is the task as lists show it. Tokens of running tasks stay with the
// user's name.
func (t *TaskInfo) entry() map[string]any {
	m := t.fields()
	if t.Running() {
		m["status"], m["saved"], m["user"] = "RUNNING", "0", t.User
		delete(m, "tokenid")
		return m
	}
	m["endtime"], m["status"] = t.End.Unix(), t.Exit
	return m
}

func (t *TaskInfo) fields() map[string]any {
	m := map[string]any{
		"upid": t.UPID, "node": t.Node, "pid": t.PID, "pstart": t.PStart,
		"starttime": t.Start.Unix(), "type": t.Type, "id": t.ID, "user": t.User,
	}
	if user, token, ok := strings.Cut(t.User, "!"); ok {
		m["user"], m["tokenid"] = user, token
	}
	return m
}

// outcome is the kind of end: ok, warning, error or unknown.
func (t *TaskInfo) outcome() string {
	switch {
	case t.Running():
		return "unknown"
	case t.Exit == "OK":
		return "ok"
	case strings.HasPrefix(t.Exit, "WARNINGS: "):
		return "warning"
	case t.Exit == "unexpected status":
		return "unknown"
	}
	return "error"
}

// taskFilter is what the parameters of a task list ask for.
type taskFilter struct {
	source, user, typ, vmid string
	outcomes                map[string]bool
	since, until            *int64
	audit                   bool
	who                     *access.Identity
}

func newTaskFilter(c *call) taskFilter {
	p := c.params
	f := taskFilter{
		source: p.Str("source"), user: strings.ToLower(p.Str("userfilter")), typ: p.Str("typefilter"), vmid: p.Str("vmid"),
		audit: c.has(c.who, "/nodes/"+c.node(), "Sys.Audit"), who: c.who,
	}
	if f.source == "" {
		f.source = "archive"
	}
	for name, at := range map[string]**int64{"since": &f.since, "until": &f.until} {
		if p.Has(name) {
			n := int64(p.Int(name))
			*at = &n
		}
	}
	switch {
	case p.Bool("errors"):
		f.outcomes = map[string]bool{"warning": true, "error": true, "unknown": true}
	case p.Has("statusfilter"):
		f.outcomes = map[string]bool{}
		for _, s := range p.List("statusfilter") {
			f.outcomes[strings.ToLower(s)] = true
		}
	}
	return f
}

func (f taskFilter) match(t *TaskInfo) bool {
	user, mine := t.User, t.User == f.who.Name()
	if !t.Running() {
		user, _, _ = strings.Cut(t.User, "!")
		mine = t.owns(f.who)
	}
	start := t.Start.Unix()
	return (f.source == "all" || (f.source == "active") == t.Running()) &&
		(f.user == "" || strings.Contains(strings.ToLower(user), f.user)) &&
		(f.audit || mine) &&
		(f.typ == "" || t.Type == f.typ) &&
		(f.vmid == "" || t.ID == f.vmid) &&
		(f.since == nil || start >= *f.since) &&
		(f.until == nil || start <= *f.until) &&
		(f.outcomes == nil || f.outcomes[t.outcome()])
}

// listTasks lists running tasks first, then the others, newest first.
func listTasks(c *call) (any, error) {
	f := newTaskFilter(c)
	skip, limit := c.params.Int("start"), 50
	if c.params.Has("limit") {
		limit = c.params.Int("limit")
	}
	list := []map[string]any{}
	count := 0
	tasks := c.state.Tasks[c.node()]
	for _, running := range []bool{true, false} {
		for i := len(tasks) - 1; i >= 0; i-- {
			t := tasks[i]
			if t.Running() != running || !f.match(t) {
				continue
			}
			count++
			if count > skip && len(list) < limit {
				list = append(list, t.entry())
			}
		}
	}
	c.total = &count
	return list, nil
}

// recentTasks is how many tasks of a node its others are told of, running
// ones or not.
const recentTasks = 25

// clusterTasks lists the recent tasks of all nodes: the running ones and the
// last of the others.
func clusterTasks(c *call) (any, error) {
	all := c.has(c.who, "/", "Sys.Audit")
	list := []map[string]any{}
	for _, name := range c.nodeNames() {
		for _, t := range c.recentTasks(name) {
			m := t.fields()
			delete(m, "pstart")
			if !t.Running() {
				delete(m, "pid")
				m["endtime"], m["status"], m["saved"] = t.End.Unix(), t.Exit, "1"
			}
			if all || m["user"] == c.who.Name() {
				list = append(list, m)
			}
		}
	}
	return list, nil
}

// recentTasks are the tasks of a node as the others know them.
func (s *Sim) recentTasks(node string) []TaskInfo {
	var list, ended []TaskInfo
	for i := range slices.Backward(s.state.Tasks[node]) {
		t := *s.state.Tasks[node][i]
		if !t.Running() && s.now().Before(t.End.Add(s.unnoticed(t.UPID))) {
			t.End, t.Exit = time.Time{}, ""
		}
		if t.Running() {
			list = append(list, t)
		} else if len(ended) < recentTasks {
			ended = append(ended, t)
		}
	}
	slices.SortStableFunc(list, func(a, b TaskInfo) int { return b.Start.Compare(a.Start) })
	return append(list, ended[:max(0, min(len(ended), recentTasks-len(list)))]...)
}

// unnoticed is how long nobody tells the other nodes that a task has ended. Its parent does, a worker of pvedaemon, as soon as it has nothing
// else to do.
func (s *Sim) unnoticed(upid string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(upid))
	if h.Sum32()%8 != 0 {
		return 0
	}
	return s.world.Load.TaskLag.D()
}

// task finds the task that the path names, for those who may see it.
func (c *call) task(priv string, mustExist bool) (*TaskInfo, error) {
	upid := c.params.Str("upid")
	m := upidText.FindStringSubmatch(upid)
	if m == nil {
		return nil, badParam("upid", "unable to parse worker upid")
	}
	t := c.byUPID[upid]
	if t != nil && t.Node != c.node() {
		t = nil
	}
	if t == nil && mustExist {
		return nil, badParam("upid", "no such task")
	}
	owner := &TaskInfo{User: m[7]}
	if !owner.owns(c.who) {
		if err := c.need(c.who, "/nodes/"+c.node(), priv); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func taskIndex(*call) (any, error) {
	return []map[string]any{{"name": "log"}, {"name": "status"}}, nil
}

func taskStatus(c *call) (any, error) {
	t, err := c.task("Sys.Audit", true)
	if err != nil {
		return nil, err
	}
	m := t.fields()
	m["status"] = "running"
	if !t.Running() {
		m["status"], m["exitstatus"] = "stopped", t.Exit
	}
	return m, nil
}

func taskLog(c *call) (any, error) {
	t, err := c.task("Sys.Audit", false)
	if err != nil {
		return nil, err
	}
	if c.params.Bool("download") && (c.params.Has("start") || c.params.Has("limit")) {
		return nil, die("'download' cannot be used together with 'start' or 'limit' parameters")
	}
	limit := 50
	if c.params.Has("limit") {
		limit = c.params.Int("limit")
	}
	var lines []string
	switch {
	case t == nil:
		lines = []string{"unable to open file - No such file or directory"}
	case len(t.Log) == 0:
		lines = []string{"no content"}
	default:
		lines = t.Log
	}
	total := len(lines)
	c.total = &total
	out := []map[string]any{}
	for i := c.params.Int("start"); i < total && (limit == 0 || len(out) < limit); i++ {
		out = append(out, map[string]any{"n": i + 1, "t": lines[i]})
	}
	return out, nil
}

// stopTask sends the task a signal and waits a moment for its end.
func stopTask(c *call) (any, error) {
	t, err := c.task("Sys.Modify", true)
	if err != nil {
		return nil, err
	}
	if worker := c.running[t.UPID]; worker != nil {
		c.kill(t.UPID)
		c.waitFor(worker.ended, stopWait)
	}
	return nil, nil
}
