package pvesim

import (
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// TaskInfo is a task as it is listed and logged.
type TaskInfo struct {
	UPID   string    `json:"upid"`
	Node   string    `json:"node"`
	PID    int       `json:"pid"`
	PStart int64     `json:"pstart"`
	Start  time.Time `json:"start"`
	Type   string    `json:"type"`
	ID     string    `json:"id"`
	User   string    `json:"user"`
	End    time.Time `json:"end,omitzero"`
	Exit   string    `json:"exit,omitempty"` // empty while it runs
	Log    []string  `json:"log,omitempty"`
}

// Running reports whether the task hasn't ended.
func (t *TaskInfo) Running() bool { return t.End.IsZero() }

// task is a worker process.
type task struct {
	actor
	info     *TaskInfo
	who      *access.Identity
	warnings int
	ended    chan struct{} // closed at the end
}

// keepTasks is how many tasks of a node are remembered.
const keepTasks = 20000

// fork starts a worker of the given type on the node and returns its UPID
// at once. fn runs with the state locked, when the caller has let go of it.
func (s *Sim) fork(node, typ, id string, who *access.Identity, fn func(t *task) error) string {
	n := s.state.Nodes[node]
	now := s.now()
	info := &TaskInfo{
		Node: node, Type: typ, ID: id, User: who.Name(),
		PID: int(s.serial("pid/"+node)) + 1000, Start: now,
		PStart: int64(now.Sub(n.Booted) / (10 * time.Millisecond)),
	}
	info.UPID = fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:%s:",
		node, info.PID, info.PStart, now.Unix(), typ, id, info.User)
	list := append(s.state.Tasks[node], info)
	if len(list) > keepTasks {
		delete(s.byUPID, list[0].UPID)
		list = list[1:]
	}
	s.state.Tasks[node] = list
	s.byUPID[info.UPID] = info
	t := &task{actor: actor{Sim: s, stop: make(chan struct{})}, info: info, who: who, ended: make(chan struct{})}
	t.stderr = t.logf
	s.running[info.UPID] = t
	s.dirty()
	s.workers.Add(1)
	go t.run(fn)
	return info.UPID
}

func (t *task) run(fn func(*task) error) {
	defer t.workers.Done()
	t.mu.Lock()
	defer t.mu.Unlock()
	fault := t.faults.matchTask(t.Sim, t.info)
	err := t.call(func(t *task) error {
		t.sleep(t.world.Timing.Task.D() + fault.delay)
		if fault.skip {
			return nil
		}
		return fn(t)
	})
	if fault.err != "" {
		err = die("%s", fault.err)
	}
	switch {
	case err != nil:
		t.info.Exit = strings.ReplaceAll(strings.TrimSuffix(perlText(err), "\n"), "\n", " ")
		t.logf("TASK ERROR: %s", t.info.Exit)
	case t.warnings > 0:
		t.info.Exit = fmt.Sprintf("WARNINGS: %d", t.warnings)
		t.logf("TASK WARNINGS: %d", t.warnings)
	default:
		t.info.Exit = "OK"
		t.logf("TASK OK")
	}
	t.info.End = t.now()
	close(t.ended)
	delete(t.running, t.info.UPID)
	t.dirty()
}

// call runs fn and turns a signal into the error that Proxmox reports.
func (t *task) call(fn func(*task) error) error {
	return untilInterrupted(func() error { return fn(t) })
}

// untilInterrupted runs fn; a signal ends it with the error that Proxmox reports then.
func untilInterrupted(fn func() error) (err error) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil:
		case interrupted:
			err = die("received interrupt")
		default:
			panic(p)
		}
	}()
	return fn()
}

// logf adds a line to the task's log.
func (t *task) logf(format string, args ...any) {
	t.info.Log = append(t.info.Log, fmt.Sprintf(format, args...))
}

// warnf adds a warning: the task ends with WARNINGS instead of OK.
func (t *task) warnf(format string, args ...any) {
	t.warnings++
	t.logf("WARN: "+format, args...)
}

// kill sends a task the signal to stop.
func (s *Sim) kill(upid string) {
	if t := s.running[upid]; t != nil {
		select {
		case <-t.stop:
		default:
			close(t.stop)
		}
	}
}
