//go:build linux

package qemu

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// launcher starts processes that end when this one does, even if it is
// killed. The kernel goes by the thread that started them, so all are
// started by one that stays.
type launcher struct {
	jobs chan func()
	once sync.Once
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for job := range l.jobs {
			job()
		}
	}()
	return l
}

func (l *launcher) close() { l.once.Do(func() { close(l.jobs) }) }

// process is a program that runs beside us.
type process struct {
	cmd    *exec.Cmd
	stderr tail
	ended  chan struct{} // closed at its end
}

// start runs a program in a directory. files become its descriptors from 3
// on, and are closed here.
func (l *launcher) start(dir string, files []*os.File, name string, args ...string) (*process, error) {
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	p := &process{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.ExtraFiles, p.cmd.Stderr, p.cmd.Stdout = dir, files, &p.stderr, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	l.jobs <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is told by what it wrote
		close(p.ended)
	}()
	return p, nil
}

// kill ends the process and those it started.
func (p *process) kill() {
	select {
	case <-p.ended:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// tail keeps the end of what a process writes.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > tailSize {
		t.buf = bytes.Clone(t.buf[len(t.buf)-tailSize:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
