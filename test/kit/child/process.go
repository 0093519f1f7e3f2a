package child

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Process is a program that runs, and what it has said.
type Process struct {
	Name string // for people
	// Done is closed when the program has ended.
	Done <-chan struct{}

	cmd *exec.Cmd
	mu  sync.Mutex
	out bytes.Buffer
}

// Watch starts a command and collects what it says.
func Watch(name string, cmd *exec.Cmd) (*Process, error) {
	done := make(chan struct{})
	p := &Process{Name: name, Done: done, cmd: cmd}
	cmd.Stdout, cmd.Stderr = p, p
	if err := Start(cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // what it said is shown
		close(done)
	}()
	return p, nil
}

// Write collects what the program says.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// Log is what the program has said so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// LastWords are the last lines of it.
func (p *Process) LastWords() string {
	const most = 25
	lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// Stop asks the program to end, and waits for that.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	<-p.Done
}

// Kill ends the program in the middle of whatever it does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.Done
}
