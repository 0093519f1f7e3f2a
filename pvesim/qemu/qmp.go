//go:build linux

package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// qmp talks to QEMU's monitor: one command at a time, and events whenever
// they come.
type qmp struct {
	conn *net.UnixConn

	turn    sync.Mutex // who may give a command
	answers chan qmpAnswer
	done    chan struct{} // closed when the connection is

	mu      sync.Mutex
	waiting map[chan qmpEvent]bool
}

type qmpAnswer struct {
	Return json.RawMessage `json:"return"`
	Error  *qmpError       `json:"error"`
}

type qmpError struct {
	Class string `json:"class"`
	Desc  string `json:"desc"`
}

func (e *qmpError) Error() string { return e.Desc }

type qmpEvent struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// text is a field of the event's data.
func (e qmpEvent) text(field string) string {
	var data map[string]any
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	s, _ := data[field].(string)
	return s
}

var errMonitorGone = errors.New("QEMU has ended")

// newQMP takes over the connection and waits until the monitor is ready.
func newQMP(ctx context.Context, conn *net.UnixConn) (*qmp, error) {
	q := &qmp{conn: conn, answers: make(chan qmpAnswer), done: make(chan struct{}), waiting: map[chan qmpEvent]bool{}}
	go q.read()
	if err := q.do(ctx, "qmp_capabilities", nil, nil); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *qmp) read() {
	defer close(q.done)
	lines := bufio.NewReader(q.conn)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var msg struct {
			qmpAnswer
			qmpEvent
		}
		if json.Unmarshal(line, &msg) != nil {
			continue
		}
		switch {
		case msg.Event != "":
			q.mu.Lock()
			for c := range q.waiting {
				select {
				case c <- msg.qmpEvent:
				default: // it looks at the state anyway
				}
			}
			q.mu.Unlock()
		case msg.Return != nil || msg.Error != nil:
			q.answers <- msg.qmpAnswer
		}
	}
}

// do gives a command. out, if there is one, takes what it returns.
func (q *qmp) do(ctx context.Context, command string, args, out any) error {
	return q.send(ctx, command, args, out, nil)
}

// send gives a command, with a file for QEMU to use.
func (q *qmp) send(ctx context.Context, command string, args, out any, file *os.File) error {
	b, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, args})
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	var rights []byte
	if file != nil {
		rights = syscall.UnixRights(int(file.Fd()))
	}
	q.turn.Lock()
	defer q.turn.Unlock()
	if _, _, err := q.conn.WriteMsgUnix(append(b, '\n'), rights, nil); err != nil {
		return fmt.Errorf("%s: %w", command, errMonitorGone)
	}
	// An answer that nobody waited for would be taken for the next one's, so
	// a command is seen to its end: QEMU answers all of them promptly.
	select {
	case a := <-q.answers:
		if a.Error != nil {
			return fmt.Errorf("%s: %w", command, a.Error)
		}
		if out == nil {
			return ctx.Err()
		}
		return json.Unmarshal(a.Return, out)
	case <-q.done:
		return fmt.Errorf("%s: %w", command, errMonitorGone)
	}
}

// watch hands out events from now on, until stop is called.
func (q *qmp) watch() (events <-chan qmpEvent, stop func()) {
	c := make(chan qmpEvent, 64)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[c] = true
	return c, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.waiting, c)
	}
}

// job starts a background job of QEMU and waits for its end. command must
// take a "job-id"; ready, if there is one, is called when the job could be
// completed.
func (q *qmp) job(ctx context.Context, id, command string, args map[string]any, ready func() error) error {
	events, stop := q.watch()
	defer stop()
	args["job-id"] = id
	if err := q.do(ctx, command, args, nil); err != nil {
		return err
	}
	for {
		select {
		case e := <-events:
			if e.Event != "JOB_STATUS_CHANGE" || e.text("id") != id {
				continue
			}
			switch e.text("status") {
			case "ready":
				if ready == nil {
					continue
				}
				if err := ready(); err != nil {
					return err
				}
			case "concluded", "null":
				return q.conclude(ctx, id, command)
			}
		case <-q.done:
			return fmt.Errorf("%s: %w", command, errMonitorGone)
		case <-ctx.Done():
			_ = q.do(context.WithoutCancel(ctx), "job-cancel", map[string]any{"id": id}, nil)
			return ctx.Err()
		}
	}
}

// conclude says how a job ended, and forgets it.
func (q *qmp) conclude(ctx context.Context, id, command string) error {
	var jobs []struct {
		ID    string `json:"id"`
		Error string `json:"error"`
	}
	if err := q.do(ctx, "query-jobs", nil, &jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		if j.ID != id {
			continue
		}
		if err := q.do(ctx, "job-dismiss", map[string]any{"id": id}, nil); err != nil {
			return err
		}
		if j.Error != "" {
			return fmt.Errorf("%s: %s", command, j.Error)
		}
	}
	return nil
}

// monitor gives a command of the monitor for people.
func (q *qmp) monitor(ctx context.Context, line string) (string, error) {
	var out string
	err := q.do(ctx, "human-monitor-command", map[string]any{"command-line": line}, &out)
	return out, err
}
