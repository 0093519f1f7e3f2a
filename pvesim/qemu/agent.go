//go:build linux

package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// agentWait is how long an agent may take to say that it is there, and
// agentWork how long it may take for anything.
const (
	agentWait = 3 * time.Second
	agentWork = time.Minute
)

// agent talks to the guest agent over its port. The port has no notion of a
// connection: what was asked while no agent ran is read by the agent that
// starts later, so each question begins with a number that its answer must
// repeat.
type agent struct {
	conn  net.Conn
	turn  chan struct{} // holds a token: who may ask
	last  int64         // number of the last question; of whoever has the turn
	lines chan []byte
}

func newAgent(conn net.Conn) *agent {
	// Memory that was saved may have an answer that is still on its way, to a number that
	// another agent of ours has asked with.
	a := &agent{conn: conn, turn: make(chan struct{}, 1), lines: make(chan []byte, 16), last: time.Now().UnixMicro()}
	a.turn <- struct{}{}
	go func() {
		defer close(a.lines)
		r := bufio.NewReaderSize(conn, 1<<16)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			a.lines <- line
		}
	}()
	return a
}

// agentAnswer is a line that the agent sent.
type agentAnswer struct {
	Return json.RawMessage `json:"return"`
	Error  *qmpError       `json:"error"`
}

// silent commands aren't answered when all goes well.
var silent = map[string]bool{"guest-shutdown": true, "guest-suspend-disk": true, "guest-suspend-ram": true, "guest-suspend-hybrid": true}

// ask has the agent do something.
func (a *agent) ask(ctx context.Context, command string, args any) (json.RawMessage, error) {
	select {
	case <-a.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { a.turn <- struct{}{} }()
	if err := a.sync(ctx); err != nil {
		return nil, err
	}
	if command == "guest-ping" {
		return json.RawMessage("{}"), nil
	}
	if err := a.write(command, args); err != nil || silent[command] {
		return nil, err
	}
	answer, err := a.next(ctx, agentWork)
	switch {
	case err != nil:
		return nil, err
	case answer.Error != nil:
		return nil, &pvesim.AgentError{Text: answer.Error.Desc}
	}
	return answer.Return, nil
}

// sync makes sure that the agent listens, and that the next answer is ours.
func (a *agent) sync(ctx context.Context) error {
	a.last++
	want := a.last
	if err := a.write("guest-sync", map[string]any{"id": want}); err != nil {
		return err
	}
	deadline := time.Now().Add(agentWait)
	for {
		answer, err := a.next(ctx, time.Until(deadline))
		if err != nil {
			return err
		}
		var got int64
		if json.Unmarshal(answer.Return, &got) == nil && got == want {
			return nil
		}
	}
}

func (a *agent) write(command string, args any) error {
	b, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, args})
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	// While no agent reads, the port takes only so much.
	if err := a.conn.SetWriteDeadline(time.Now().Add(agentWait)); err != nil {
		return err
	}
	if _, err := a.conn.Write(append(b, '\n')); err != nil {
		if errors.Is(err, net.ErrClosed) {
			return errMonitorGone
		}
		return pvesim.ErrNoAgent
	}
	return nil
}

// next reads one answer.
func (a *agent) next(ctx context.Context, wait time.Duration) (agentAnswer, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-a.lines:
			if !ok {
				return agentAnswer{}, errMonitorGone
			}
			var answer agentAnswer
			if json.Unmarshal(trimSentinel(line), &answer) == nil && (answer.Return != nil || answer.Error != nil) {
				return answer, nil
			}
		case <-timer.C:
			return agentAnswer{}, pvesim.ErrNoAgent
		case <-ctx.Done():
			return agentAnswer{}, ctx.Err()
		}
	}
}

// trimSentinel drops what an agent sends to mark a beginning.
func trimSentinel(line []byte) []byte {
	for len(line) > 0 && line[0] == 0xff {
		line = line[1:]
	}
	return line
}
