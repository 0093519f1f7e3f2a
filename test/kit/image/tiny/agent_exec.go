//go:build linux

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os/exec"
)

// child is a program that was started through the agent.
type child struct {
	cmd      *exec.Cmd
	capture  bool
	out, err bytes.Buffer
	done     chan struct{}
}

func startProgram(a *agent, q struct {
	Path    string   `json:"path"`
	Arg     []string `json:"arg"`
	Env     []string `json:"env"`
	Input   string   `json:"input-data"`
	Capture bool     `json:"capture-output"`
}) (any, error) {
	input, err := base64.StdEncoding.DecodeString(q.Input)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(q.Path, q.Arg...), capture: q.Capture, done: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = bytes.NewReader(input), &c.out, &c.err
	if len(q.Env) > 0 {
		c.cmd.Env = q.Env
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("failed to execute child process “%s”", q.Path)
	}
	go func() {
		_ = c.cmd.Wait() // its exit code says it
		close(c.done)
	}()
	pid := c.cmd.Process.Pid
	a.running[pid] = c
	return map[string]any{"pid": pid}, nil
}

func programStatus(a *agent, q struct{ PID int }) (any, error) {
	c := a.running[q.PID]
	if c == nil {
		return nil, fmt.Errorf("PID %d does not exist", q.PID)
	}
	select {
	case <-c.done:
	default:
		return map[string]any{"exited": false}, nil
	}
	delete(a.running, q.PID)
	out := map[string]any{"exited": true, "exitcode": c.cmd.ProcessState.ExitCode()}
	for key, buf := range map[string]*bytes.Buffer{"out-data": &c.out, "err-data": &c.err} {
		if c.capture && buf.Len() > 0 {
			out[key] = base64.StdEncoding.EncodeToString(buf.Bytes())
		}
	}
	return out, nil
}
