package outside

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/proxplane/proxplane/test/kit/child"
)

// Command says which program to start, and how.
type Command struct {
	Program string
	Args    []string
	Env     []string // all of it: nothing is inherited
	Dir     string
	Stdin   io.Reader
	// Stdout and Stderr take the output; nil: [Result] has it.
	Stdout, Stderr *os.File
	Attr           *syscall.SysProcAttr
}

// Process is a program that runs, or has run.
type Process struct {
	cmd      *exec.Cmd
	out, err *transcript
	begun    time.Time
	ended    chan struct{}
	result   Result
}

// Result is how a program ended.
type Result struct {
	Code           int            // exit status; -1: a signal ended it
	Signal         syscall.Signal // that ended it; 0: none did
	Stdout, Stderr string
	Wall, CPU      time.Duration
	Memory         int64 // most that was resident, bytes
}

// Said is all that the program has said.
func (r Result) Said() string { return r.Stdout + r.Stderr }

func (r Result) String() string {
	how := fmt.Sprintf("exit status %d", r.Code)
	if r.Signal != 0 {
		how = "ended by " + r.Signal.String()
	}
	return fmt.Sprintf("%s\n--- stdout\n%s--- stderr\n%s", how, r.Stdout, r.Stderr)
}

// Start starts a program. The end of ctx kills it.
func Start(ctx context.Context, c Command) (*Process, error) {
	cmd := exec.CommandContext(ctx, c.Program, c.Args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.SysProcAttr = c.Env, c.Dir, c.Stdin, c.Attr
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	p := &Process{cmd: cmd, out: newTranscript(), err: newTranscript(), begun: time.Now(), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.err
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	go p.wait()
	return p, nil
}

// wait notes how it ended.
func (p *Process) wait() {
	_ = p.cmd.Wait() // the state says it
	state := p.cmd.ProcessState
	p.result = Result{
		Code: state.ExitCode(), Stdout: p.out.String(), Stderr: p.err.String(),
		Wall: time.Since(p.begun), CPU: state.UserTime() + state.SystemTime(),
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.result.Signal = status.Signal()
	}
	p.result.Memory = MostMemory(state)
	p.out.end()
	p.err.end()
	close(p.ended)
}

// Wait waits for the end.
func (p *Process) Wait() Result {
	<-p.ended
	return p.result
}

// Ended is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Pid is the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal; one that comes too late is no error.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill ends the program as a power cut would.
func (p *Process) Kill() Result {
	_ = p.Signal(syscall.SIGKILL) // Wait tells
	return p.Wait()
}

// Said is all that the program has said so far.
func (p *Process) Said() string { return p.out.String() + p.err.String() }

// Await waits for a line on the standard output that has a text in it, and
// returns the line.
func (p *Process) Await(ctx context.Context, text string) (string, error) {
	return p.out.await(ctx, text)
}

// AwaitErr waits for a line on the standard error.
func (p *Process) AwaitErr(ctx context.Context, text string) (string, error) {
	return p.err.await(ctx, text)
}

// transcript keeps what was written, and tells those who wait for it.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	more  chan struct{} // closed by what is written next
	ended bool
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.more)
	t.more = make(chan struct{})
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// end says that nothing more comes.
func (t *transcript) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	close(t.more)
	t.more = make(chan struct{})
}

func (t *transcript) await(ctx context.Context, text string) (string, error) {
	for {
		t.mu.Lock()
		said, more, ended := t.text.String(), t.more, t.ended
		t.mu.Unlock()
		for lines := bufio.NewScanner(strings.NewReader(said)); lines.Scan(); {
			if strings.Contains(lines.Text(), text) {
				return lines.Text(), nil
			}
		}
		if ended {
			return "", fmt.Errorf("it ended without a line with %q:\n%s", text, said)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", fmt.Errorf("no line with %q: %w:\n%s", text, context.Cause(ctx), said)
		}
	}
}
