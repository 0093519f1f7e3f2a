package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Run runs a command and returns its output. Its standard error is part of the error if it
// failed.
func (c *Conn) Run(ctx context.Context, command string, stdin io.Reader) (string, error) {
	var out, complaints bytes.Buffer
	code, err := c.Session(ctx, Session{Command: command, In: stdin, Out: &out, Err: &complaints})
	if err == nil && code != 0 {
		err = fmt.Errorf("%s: exit status %d: %s", command, code, strings.TrimSpace(complaints.String()))
	}
	if err != nil {
		return out.String(), fmt.Errorf("run on %s: %w", c.host, err)
	}
	return out.String(), nil
}

// Session is a command, or a shell when there is none.
type Session struct {
	Command  string
	In       io.Reader // nil: nothing
	Out, Err io.Writer
	Terminal *Terminal // nil: no terminal
}

// Terminal is what the person in front of a session sees.
type Terminal struct {
	Type          string // as in TERM
	Columns, Rows int
	Resized       <-chan Size // nil: its size never changes
}

// Size is that of a terminal.
type Size struct{ Columns, Rows int }

// Session runs a session until it ends, and returns its exit status.
func (c *Conn) Session(ctx context.Context, s Session) (status int, err error) {
	stop := c.guard(ctx)
	defer stop()
	status, err = c.session(s)
	if err != nil && ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return status, err
}

func (c *Conn) session(s Session) (int, error) {
	far, err := c.client.NewSession()
	if err != nil {
		return 0, explain(err)
	}
	defer far.Close()
	var turn sync.Mutex // both may go to one place
	far.Stdout, far.Stderr = &writer{&turn, s.Out}, &writer{&turn, s.Err}
	var in io.WriteCloser
	if s.In != nil {
		// The library would wait for the end of the input, and a person at a
		// terminal doesn't end theirs.
		if in, err = far.StdinPipe(); err != nil {
			return 0, err
		}
	}
	if t := s.Terminal; t != nil {
		if err := far.RequestPty(t.Type, t.Rows, t.Columns, ssh.TerminalModes{ssh.ECHO: 1}); err != nil {
			return 0, fmt.Errorf("get a terminal: %w", explain(err))
		}
		over := make(chan struct{})
		defer close(over)
		go follow(far, t.Resized, over)
	}
	if s.Command == "" {
		err = far.Shell()
	} else {
		err = far.Start(s.Command)
	}
	if err == nil {
		// Servers are confused by input that ends before they know what to run.
		if in != nil {
			go func() {
				_, _ = io.Copy(in, s.In)
				_ = in.Close()
			}()
		}
		err = far.Wait()
	}
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		if exit.Signal() != "" {
			return 0, fmt.Errorf("it was ended by signal %s", exit.Signal())
		}
		return exit.ExitStatus(), nil
	}
	return 0, explain(err)
}

// writer writes when it is its turn.
type writer struct {
	turn *sync.Mutex
	to   io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	return w.to.Write(p)
}

// follow tells the other end how large the terminal is.
func follow(far *ssh.Session, sizes <-chan Size, over <-chan struct{}) {
	for {
		select {
		case size := <-sizes:
			_ = far.WindowChange(size.Rows, size.Columns)
		case <-over:
			return
		}
	}
}
